"""The generic UI elements: status lines, progress, documents and views, and the actions that they declare.

`ElementArea` (`felan_tui.elements.area`) is what a screen holds; `ActionChosen`, in
`felan_tui.elements.messages`, is what it tells.
"""

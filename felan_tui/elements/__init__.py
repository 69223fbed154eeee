"""The generic UI elements: status lines, progress, documents and views, and the actions that they declare.

A screen mounts `ElementArea` (`felan_tui.elements.area`), which posts `ActionChosen`, in
`felan_tui.elements.messages`.
"""

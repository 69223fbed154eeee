"""The task pointer on the screen: its history, its editor and its publish.

`facts` is pure; `controller` asks the host; `editor` and `conflict` are widgets. They belong to the screen
`felan_tui.screens.pointer`.
"""

"""The task pointer on the screen: what it says and said, how it is edited and published.

`facts` is pure; `desk` asks the host; `editor` and `conflict` are widgets. The screen that holds them is
`felan_tui.screens.pointer`.
"""

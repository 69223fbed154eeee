"""What was said and done in a session, on the screen: blocks, the message that is still coming, and their
view.

Blocks are made from plain values (`UserBlock`, `MarkdownBlock`, `ThinkingBlock`, `ToolBlock`, `NoticeBlock`,
`OutcomeBlock`) and given to a `TranscriptView`; nothing here knows the protocol.
"""

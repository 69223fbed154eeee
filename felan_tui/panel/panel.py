"""The process panel: what runs and ran, the live output of the chosen one, and how to stop it.

It asks nothing of a host: `StopRequested` says what a person wants, `stopped` and `stop_failed` what came of
it, and output comes through an `OutputSource`.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker

from felan_core.protocol.base import or_default
from felan_core.protocol.operations.processes import StopSignal
from felan_core.protocol.session import ProcessRow
from felan_tui.bars.hint_rule import KeyHint
from felan_tui.panel import words
from felan_tui.panel.follower import Follower
from felan_tui.panel.listing import ProcessList
from felan_tui.panel.log import OutputLog
from felan_tui.panel.output import OutputView
from felan_tui.panel.source import OutputSource
from felan_tui.panel.stopping import Stopping
from felan_tui.text.cells import cut
from felan_tui.text.safe import safe_line
from felan_tui.text.widgets import Line, set_titles
from felan_tui.transcript.look import State

WIDE = 110
"""Cells from which the list stands beside the output."""

LIST_MOST = 4
"""Rows of the list above the output."""

SAID_MS = 15_000
"""How long the outcome of a stop is shown."""

RUNNING_KEYS = (KeyHint("x", "stop", "x"), KeyHint("i", "interrupt", "i"))
LEFT_KEY = KeyHint("x", "stop what is left running", "x")
OTHER_KEY = KeyHint("↑↓", "process")
NOTHING = "No process has run yet. Type ! and a command to start one."
HELD = "output waits while you read"


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return int(time.time() * 1000)


class _Answer(NamedTuple):
    """What came of a stop: the host's answer for a process, or else our words. `at` in milliseconds."""

    at: int
    text: str = ""
    process_id: str | None = None
    signal: StopSignal = "term"


class ProcessPanel(Container):
    """The list of processes and the output of the chosen one. `now`: milliseconds since the epoch.

    Reading pauses while the panel is hidden. `clock`, in seconds, paces the drawing.
    """

    DEFAULT_CSS = """
    ProcessPanel {
        layout: vertical;
        width: 1fr;
        border-top: solid $panel;
        border-title-color: $text-muted;
        background: $background;
    }
    ProcessPanel:focus-within {
        border-title-color: $text-accent;
    }
    ProcessPanel > #process-body {
        layout: vertical;
        width: 1fr;
        height: 1fr;
    }
    ProcessPanel ProcessList {
        width: 1fr;
        height: 1;
    }
    ProcessPanel OutputView {
        width: 1fr;
        height: 1fr;
    }
    ProcessPanel.-wide > #process-body {
        layout: horizontal;
    }
    ProcessPanel.-wide ProcessList {
        width: 36%;
        max-width: 64;
        height: 1fr;
        border-right: solid $panel;
    }
    ProcessPanel > #process-line {
        width: 1fr;
        height: 1;
        padding: 0 1;
        color: $text-muted;
    }
    """

    BINDINGS = [
        Binding("x", "stop", "Stop", show=False),
        Binding("i", "interrupt", "Interrupt", show=False),
        Binding("down,j,n", "other(1)", "Next process", show=False),
        Binding("up,k,p", "other(-1)", "Previous process", show=False),
        Binding("end", "follow", "Follow the end", show=False),
        Binding("home", "to_beginning", "To the beginning", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("escape", "close", "Back", show=False),
    ]

    class StopRequested(Message):
        """A person wants a process stopped. `signal`: `term` is TERM, then KILL, for the whole group."""

        def __init__(self, process_id: str, signal: StopSignal) -> None:
            super().__init__()
            self.process_id = process_id
            self.signal: StopSignal = signal

    class Closed(Message):
        """A person is done with the panel."""

    class KeysChanged(Message):
        """``keys`` are others now."""

    def __init__(
        self,
        source: OutputSource | None = None,
        now: Callable[[], int] = now_ms,
        *,
        clock: Callable[[], float] = time.monotonic,
        unicode: bool = True,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._source = source
        self._now = now
        self._clock = clock
        self._list = ProcessList(now, unicode=unicode, id="process-list")
        self._output = OutputView(
            head=words.head_words, moved=self._moved, unicode=unicode, clock=clock, id="process-output"
        )
        self._line = Line(one_line=True, id="process-line")
        self._log: OutputLog | None = None
        self._follower: Follower | None = None
        self._stopping = Stopping()
        self._sent: tuple[str, StopSignal] | None = None
        self._said: _Answer | None = None
        self._unlisted: str | None = None
        self._reading: Worker[None] | None = None
        self._visible = False
        self._list_rows: int | None = None
        self._timer: Timer | None = None
        self._keys: list[KeyHint] = []

    def compose(self) -> ComposeResult:
        with Container(id="process-body"):
            yield self._list
            yield self._output
        yield self._line

    # --- what the screen tells ---

    @property
    def selected(self) -> str | None:
        """The process whose output is shown."""
        return self._list.chosen

    def attach(self, source: OutputSource | None) -> None:
        """Reads from another source from now on, the shown process from where it was."""
        self._source = source
        if self._follower is None or not self._follower.ended:
            self._follow()

    def set_processes(self, rows: Sequence[ProcessRow]) -> None:
        """All processes of the session, in the order in which they were started."""
        before = self._list.chosen
        listed = any(row.id == before for row in rows)
        chosen = before if listed or before == self._unlisted else None
        if listed:
            self._unlisted = None
        if chosen is None and rows:
            running = [row for row in rows if row.state == "running"]
            chosen = (running or list(rows))[-1].id
        self._list.show(rows, chosen)
        if chosen != before:
            self._open()
        self._arrange()
        self._tell()

    def select(self, process_id: str) -> None:
        """Shows the output of a process, also of one that is not listed yet."""
        if process_id == self._list.chosen:
            return
        self._unlisted = process_id if self._list.row(process_id) is None else None
        self._list.show(self._list.rows, process_id)
        self._open()
        self._tell()

    def stopped(self, process_id: str, state_text: str) -> None:
        """A stop was answered: the state in which the process is now."""
        signal = self._sent[1] if self._sent and self._sent[0] == process_id else "term"
        self._sent = None
        self._said = _Answer(self._now(), state_text, process_id, signal)
        self._tell()

    def stop_failed(self, text: str) -> None:
        """A stop was refused, or the host is gone."""
        self._sent = None
        self._said = _Answer(self._now(), f"not stopped: {safe_line(text).strip()}")
        self._tell()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Gives the keys to the output."""
        self._output.focus(scroll_visible)
        return self

    # --- following ---

    def _open(self) -> None:
        """Another process: its output from the beginning, or from near the end when it is long."""
        self._stopping = self._stopping.dropped()
        self._log = OutputLog() if self._list.chosen is not None else None
        self._output.show(self._log)
        self._follow()

    def _follow(self) -> None:
        """Reads on where the log ends."""
        if self._follower is not None:
            self._follower.stop()
            self._follower = None
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        log, chosen = self._log, self._list.chosen
        if log is None or chosen is None or self._source is None or not self.is_attached:
            return
        self._follower = Follower(self._source, chosen, log, changed=self._output_changed, clock=self._clock)
        self._follower.show(self._visible)
        self._reading = self.run_worker(self._follower.run(), group="output")

    def _output_changed(self) -> None:
        if self._follower is not None and self._list.chosen is not None:
            self._list.note_end(self._list.chosen, self._follower.end)
        self._output.grew()
        self._tell_tail()

    def _moved(self) -> None:
        if self._follower is not None:
            self._follower.go_on()

    # --- what is said ---

    def _tail(self) -> tuple[State, str] | None:
        follower = self._follower
        row = self._list.row(self._list.chosen)
        if self._list.chosen is None:
            return "info", NOTHING
        if follower is not None and follower.trouble:
            left = max(0.0, follower.retry_at - self._clock())
            return "failed", words.trouble_words(follower.trouble, left)
        if row is not None and row.state != "running" and (follower is None or follower.ended):
            return words.state_of(row), words.ending(row, self._now())
        if row is not None and or_default(row.leftovers, 0):
            return "info", "its output is not recorded"
        if follower is not None and not follower.log.next_offset:
            return "info", "no output yet"
        return None

    def _tell_tail(self) -> None:
        self._output.set_tail(self._tail())
        if self._follower is not None and self._follower.waits_for_room:
            self._tell_line()
        if self._follower is not None and self._follower.trouble:
            self._tick_if_needed()

    def _tell(self) -> None:
        set_titles(self, words.heading(self._list.rows))
        if (keys := self.keys) != self._keys:
            self._keys = keys
            self.post_message(self.KeysChanged())
        self._tell_tail()
        self._tell_line()
        self._tick_if_needed()

    def _tell_line(self) -> None:
        width = max(0, self.size.width - 2)
        now = self._now()
        row = self._list.row(self._stopping.process_id)
        if row is not None and self._stopping.asks(now):
            self._show_line(words.ask_words(row, width), "$text-warning", width)
        elif self._sent is not None and (sent := self._list.row(self._sent[0])) is not None:
            self._show_line(words.sent_words(sent, self._sent[1]), "$text-warning", width)
        elif self._said is not None and now - self._said.at < SAID_MS:
            self._show_line(self._answer(self._said, now), "$text", width)
        else:
            self._said = None
            self._show_line(self._follow_words(), "$text-accent", width)

    @property
    def keys(self) -> list[KeyHint]:
        """The keys that do something now, for the hint rule. Of an ended process only what it left can be
        stopped.
        """
        row = self._list.row(self._list.chosen)
        keys = list(RUNNING_KEYS) if row is not None and row.state == "running" else []
        if row is not None and words.left_of(row):
            keys.append(LEFT_KEY)
        return [OTHER_KEY, *keys] if len(self._list.rows) > 1 else keys

    def _show_line(self, text: str, style: str, width: int) -> None:
        self._line.show((cut(text, width), style))

    def _answer(self, said: _Answer, now: int) -> str:
        if said.process_id is None:
            return said.text
        return words.stopped_words(self._list.row(said.process_id), said.text, said.signal, now)

    def _follow_words(self) -> str:
        if self._output.following:
            return ""
        held = self._follower is not None and self._follower.waits_for_room
        return " · ".join(part for part in (self._output.mark, HELD if held else "", "End follows") if part)

    # --- the reader's actions ---

    def action_stop(self) -> None:
        """Asks, and at the second press asks the host."""
        row = self._list.row(self._list.chosen)
        if row is None:
            return
        self._stopping = self._stopping.pressed(row.id, self._now())
        if self._stopping.confirmed:
            self._request(row.id, "term")
        self._tell()

    def action_interrupt(self) -> None:
        """Sends INT once."""
        row = self._list.row(self._list.chosen)
        if row is None:
            return
        if row.state == "running":
            self._request(row.id, "int")
        else:
            self._said = _Answer(self._now(), f"{words.title_of(row)}: {words.ending(row, self._now())}")
        self._tell()

    def _request(self, process_id: str, signal: StopSignal) -> None:
        self._stopping = self._stopping.dropped()
        self._sent = process_id, signal
        self._said = None
        self.post_message(self.StopRequested(process_id, signal))

    def action_other(self, by: int) -> None:
        """Chooses another process; the only one is scrolled instead."""
        if len(self._list.rows) > 1:
            self._list.action_choose(by)
        else:
            self._output.scroll_relative(y=by)

    def action_follow(self) -> None:
        """Goes to the end of the output and follows it."""
        self._output.action_follow()

    def action_to_beginning(self) -> None:
        """Goes to the oldest output that is kept."""
        self._output.action_scroll_home()

    def action_page_up(self) -> None:
        """A page of the output up."""
        self._output.action_page_up()

    def action_page_down(self) -> None:
        """A page of the output down."""
        self._output.action_page_down()

    def action_close(self) -> None:
        """Takes a question back, or else leaves the panel."""
        if self._stopping.asks(self._now()):
            self._stopping = self._stopping.dropped()
            self._tell()
        else:
            self.post_message(self.Closed())

    # --- events ---

    def on_mount(self) -> None:
        self._timer = self.set_interval(1.0, self._tick, pause=True)
        self._follow()
        self._tell()

    def _tick(self) -> None:
        """Once a second, while something on the panel tells the time."""
        self._list.refresh()
        self._tell_tail()
        self._tell_line()
        self._tick_if_needed()

    def _tick_if_needed(self) -> None:
        if self._timer is None:
            return
        trouble = self._follower is not None and bool(self._follower.trouble)
        running = any(row.state == "running" for row in self._list.rows)
        said = self._said is not None or self._stopping.process_id is not None
        if self._visible and (trouble or running or said):
            self._timer.resume()
        else:
            self._timer.pause()

    def on_show(self, _event: events.Show) -> None:
        self._see(True)

    def on_hide(self, _event: events.Hide) -> None:
        self._see(False)

    def _see(self, visible: bool) -> None:
        self._visible = visible
        if self._follower is not None:
            self._follower.show(visible)
        if visible:
            self._arrange()
        self._tell()

    def on_resize(self, _event: events.Resize) -> None:
        self._arrange()
        self._tell_line()

    def _arrange(self) -> None:
        wide = self.size.width >= WIDE
        rows = None if wide else max(1, min(LIST_MOST, len(self._list.rows), (self.size.height - 1) // 3))
        if rows != self._list_rows:
            # Each time that a height is set the whole screen is laid out.
            self._list_rows = rows
            self._list.styles.height = rows
        self.set_class(wide, "-wide")

    def on_process_list_chosen(self, event: ProcessList.Chosen) -> None:
        event.stop()
        self._open()
        self._tell()

    def on_output_view_follow_changed(self, event: OutputView.FollowChanged) -> None:
        event.stop()
        self._tell_line()

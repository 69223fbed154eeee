"""FelanApp: paints first, opens the host after that, and ends with the terminal whole.

What a session shows is the session screen's; here are the start, the end, signals, themes and crash reports.
"""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.events import Event, Key, Paste
from textual.reactive import Initialize, Reactive
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import WorkerFailed

from felan_core.credentials import refusal
from felan_tui.appearance import SYSTEM, Appearance
from felan_tui.bars.notices import Notices, Severity
from felan_tui.cli.garbage import resume
from felan_tui.compat import keep_rules
from felan_tui.screens.session import SessionScreen
from felan_tui.session.crash import report
from felan_tui.session.start import Start
from felan_tui.terminal.order import KeyDone, KeyOrder, is_ordered
from felan_tui.text.widgets import toast

if TYPE_CHECKING:
    from textual.driver import Driver

    from felan_core.client.session import ClientSession
    from felan_tui.preferences import AgentKind
    from felan_tui.session.controller import OpenHost
    from felan_tui.session.messages import AgentReady
    from felan_tui.start.card import StartCard
    from felan_tui.terminal.messages import TerminalBackground, TerminalInputFailed

CRASH: Final = 1
NOT_FOUND: Final = 6
SIGNALLED: Final = 128
REFUSED_SECONDS: Final = 15.0
"""How long it stays on the screen that the disk refused something, and is not said again."""
FIRST_KEYS_SECONDS: Final = 0.05
"""How long the first paint has the process to itself before the rest is loaded."""
ENDING = (signal.SIGTERM, signal.SIGHUP)
PARTS: Final = (
    "felan_tui.session.controller",
    "felan_tui.session.view",
    "felan_tui.session.replacing",
    "markdown_it",
    "pygments.lexers",
    "pygments.lexers.python",
    "pygments.lexers.shell",
    "felan_tui.screens.help",
    "felan_tui.screens.notices",
    "felan_tui.screens.pointer",
    "felan_tui.screens.quit",
    "felan_tui.cards.whole",
    "textual.command",
)
"""What an attached session needs, and what its first keys may ask for."""


def _first_theme(app: object) -> str:
    assert isinstance(app, FelanApp)
    return app.first_theme()


class FelanApp(App[None], inherit_bindings=False):
    """``open_host`` is called once, after the first paint. ``data``: where drafts, history and reports are
    kept.

    ``launcher``: a descriptor that reads as ended when the launcher is gone. After ``run`` ended,
    ``return_code`` is the exit code and ``farewell`` what is to be said on the plain terminal.
    """

    TITLE = "felan"
    # The session screen's: read with the app's own, so that the styles are made once.
    CSS_PATH = "screens/session.tcss"
    theme = Reactive(Initialize(_first_theme))
    ENABLE_COMMAND_PALETTE = True
    # Ctrl+C in every screen that is in front; the others where it is not the session's. Textual's own Ctrl+Q
    # would end without a word.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Clear or cancel", show=False, priority=True, system=True),
        Binding("ctrl+d", "go", "Quit", show=False, system=True),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, system=True),
    ]

    def __init__(
        self,
        open_host: "Callable[[], Awaitable[OpenHost]]",
        start: Start,
        *,
        data: Path,
        config: Path,
        launcher: int | None = None,
    ) -> None:
        # Known before Textual looks for its theme: it would make all styles for another one first.
        self._appearance = Appearance(config, data, os.environ)
        self._themes = {theme.name: theme for theme in self._appearance.themes}
        super().__init__()
        keep_rules(self)
        self._open_host = open_host
        self._start = start
        self._data = data
        self._config = config
        self._launcher = launcher
        self._host: asyncio.Task[OpenHost] | None = None
        self._connecting = asyncio.Lock()
        self._client: ClientSession | None = None
        self._shows_sessions = False
        self._refused_until = 0.0
        self._notices = Notices()
        self._session = SessionScreen(start, data=data, notices=self._notices)
        self._order = KeyOrder(self, self._handle)
        self.farewell = ""
        self._problem = ""
        self._command = ""
        self._chosen: tuple[AgentKind, str | None] | None = None
        for theme in self._themes.values():
            self.register_theme(theme)
        self._color_programs()

    def get_theme(self, theme_name: str) -> Theme | None:
        """The theme of that name; ours also while Textual's own constructor runs."""
        return super().get_theme(theme_name) or self._themes.get(theme_name)

    def first_theme(self) -> str:
        """The theme to start with."""
        return self._appearance.start({**self.available_themes, **self._themes}) or "textual-dark"

    def get_driver_class(self) -> "type[Driver]":
        """The terminal, which may be taken away."""
        from felan_tui.terminal.driver import TerminalDriver

        return TerminalDriver

    def told_refused(self, problem: str) -> None:
        """The host in this process could not store something that it goes on trying to store."""
        now = time.monotonic()
        if now >= self._refused_until and self.is_running:
            self._refused_until = now + REFUSED_SECONDS
            text = f"{problem} Felan tries again every second; nothing is shown as done before it is stored."
            toast(self, text, "error", title="Not stored", seconds=REFUSED_SECONDS)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A notice, Textual's own too: on the session's hint rule, and over any other screen in front."""
        at, now = time.time_ns() // 1_000_000, time.monotonic()
        self._notices.add(message, severity, at=at, now=now, title=title)
        self._session.show_notice()
        if self.screen is not self._session:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    # --- start ---

    async def on_mount(self) -> None:
        self._watch_the_end()
        if self._start.kind == "ask":
            self._start = self._remembered() or self._start
        self._session.starts(self._start)
        self.push_screen(self._session)
        if self._start.kind == "ask":
            from felan_tui.start.card import StartScreen

            card = StartScreen(folder=self._start.cwd, command=self._command, problem=self._problem)
            self.push_screen(card)
        self.call_after_refresh(self._begin, asked=self._start.kind == "ask")

    def _begin(self, *, asked: bool) -> None:
        """After the first paint: what a host and the rest of the screen are made of is loaded now.

        ``asked``: the start card came first. A choice that is made on it before this opens the host itself:
        Textual drops the call where the card is gone by then. A fault of ours in here ends the app with a
        report.
        """
        self._open()
        if asked:
            self.run_worker(self._offer_last)
        else:
            self.run_worker(self._open_session(self._start))

    def _open(self) -> "asyncio.Task[OpenHost]":
        """The opening of the host, begun at the first call."""
        if self._host is None:
            resume()
            self._host = asyncio.create_task(self._opened(), name="felan-open-host")
        return self._host

    async def _opened(self) -> "OpenHost":
        # Later: a thread that imports holds up the echo of the first keys. In a thread, so that what is
        # typed meanwhile is seen.
        await asyncio.sleep(FIRST_KEYS_SECONDS)
        await asyncio.to_thread(load, PARTS)
        return await self._open_host()

    async def _connected(self) -> "ClientSession":
        """The one client of the host, connected at first need. Ends the app when there is no host."""
        async with self._connecting:
            if self._client is None:
                host = await asyncio.shield(self._open())
                from felan_tui.session.controller import connect

                self._client = await connect(
                    host,
                    on_state=self._session.connection.changed,
                    on_resync=self._session.resynced,
                    on_session_lost=self._session.session_lost,
                )
        return self._client

    async def _open_session(self, start: Start) -> None:
        from felan_tui.session.errors import HostUnavailable

        try:
            client = await self._connected()
        except HostUnavailable as error:
            self.leave(error.code, error.message)
            return
        from felan_tui.session.controller import NothingToContinue, Refusal, begin, words

        try:
            link = await begin(client, start, self._session.changed, self._name_unreadable)
        except NothingToContinue as nothing:
            self.leave(NOT_FOUND, str(nothing))
        except Refusal as error:
            self.leave(CRASH, f"The session did not start: {words(error)}")
        else:
            await self._session.attached(link)

    async def _offer_last(self) -> None:
        from felan_tui.session.errors import HostUnavailable
        from felan_tui.start.card import StartScreen

        try:
            client = await self._connected()
        except HostUnavailable as error:
            self.leave(error.code, error.message)
            return
        from felan_tui.session.controller import folder_sessions, unreadable

        rows = await folder_sessions(client, self._start.cwd)
        for row in rows:
            if row.problem:
                self._name_unreadable(unreadable(row, str(row.problem)))
        row = next((row for row in rows if not row.problem), None)
        if row is not None and isinstance(self.screen, StartScreen):
            self.screen.offer_last(row.name or Path(row.cwd).name, row.updated_at)

    def _name_unreadable(self, problem: str) -> None:
        toast(self, problem, "warning", seconds=REFUSED_SECONDS)

    def on_start_card_chosen(self, event: "StartCard.Chosen") -> None:
        from felan_tui.start.card import StartScreen

        wrong = self._unstartable(event.command)
        if wrong and isinstance(self.screen, StartScreen):
            self.screen.card.show_problem(wrong)
            return
        settings = agent_settings(event.kind, event.command)
        # It is remembered when it has started: a command that fails at once is offered again, and not taken.
        self._chosen = event.kind, event.command
        if self._at_the_start:
            self._leave_the_start(Start(kind="agent", cwd=self._start.cwd, settings=settings))
        else:
            self.pop_screen()
            self._session.change_agent(settings)

    def on_agent_ready(self, event: "AgentReady") -> None:
        self._shows_sessions = True
        self._keep_colors()
        if self._chosen is not None and event.settings == agent_settings(*self._chosen):
            self._remember(*self._chosen)
            self._chosen = None

    def on_agent_wanted(self) -> None:
        from felan_tui.start.card import StartScreen

        command = self._chosen[1] if self._chosen else self._remembered_command()
        self.push_screen(StartScreen(folder=self._start.cwd, command=command or "", over=True))

    def on_start_card_continue(self) -> None:
        self._leave_the_start(Start(kind="continue", cwd=self._start.cwd))

    def _leave_the_start(self, start: Start) -> None:
        self._start = start
        self.pop_screen()
        self._session.starts(start)
        self.run_worker(self._open_session(start))

    def _remembered(self) -> Start | None:
        """The agent that was chosen before; None when there is none, or it is not to be had any more, or the
        preferences cannot be read.
        """
        from felan_tui.preferences import PreferencesError, read_agent

        try:
            agent = read_agent(self._config)
        except PreferencesError as error:
            self._problem = str(error)
            return None
        if agent is None:
            return None
        if wrong := self._unstartable(agent.command):
            # A secret that an earlier version stored is not put on the screen.
            self._problem, self._command = wrong, "" if refusal(agent.command or "") else agent.command or ""
            return None
        return Start(kind="agent", cwd=self._start.cwd, settings=agent_settings(agent.kind, agent.command))

    def _remembered_command(self) -> str | None:
        from felan_tui.preferences import PreferencesError, read_agent

        try:
            agent = read_agent(self._config)
        except PreferencesError:
            return None
        return None if agent is None or refusal(agent.command or "") else agent.command

    def _unstartable(self, command: str | None) -> str:
        if command is None:
            return ""
        from felan_tui.start.command import unstartable

        return unstartable(command, self._start.cwd)

    def _remember(self, kind: "AgentKind", command: str | None) -> None:
        from felan_tui.preferences import PreferencesError, write_agent

        try:
            write_agent(self._config, kind, command)
        except PreferencesError as error:
            toast(self, str(error), "warning")

    # --- end ---

    async def on_unmount(self) -> None:
        """The host may end now: nothing connects to it again."""
        if self._client is not None:
            await self._client.close()

    def on_leaving(self) -> None:
        self.leave()

    def leave(self, code: int = 0, farewell: str = "") -> None:
        """End the app: the exit code, and what to say on the plain terminal."""
        # The terminal is the shell's again before the host has ended: a second Ctrl+C is a signal by then.
        # A function and not SIG_IGN, which the programs that are started from now on would inherit.
        signal.signal(signal.SIGINT, lambda number, frame: None)
        self.farewell = self.farewell or farewell
        self._session.keep()
        self.exit(return_code=code)

    def _watch_the_end(self) -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.leave, SIGNALLED + number)
        if self._launcher is not None:
            loop.add_reader(self._launcher, self._launcher_ended)

    def _launcher_ended(self) -> None:
        assert self._launcher is not None
        asyncio.get_running_loop().remove_reader(self._launcher)
        self.leave(SIGNALLED + signal.SIGHUP)

    def _handle_exception(self, error: Exception) -> None:
        """An exception of ours ends the app: a report in a file, and one line on the terminal.

        The first one counts: others are what it brings down with it.
        """
        self._return_code = CRASH
        if self._exception is None:
            self._exception = error
            self._exception_event.set()  # pyright: ignore[reportUnknownMemberType] untyped in Textual
            cause = error.error if isinstance(error, WorkerFailed) else error
            self.farewell = report(cause, self._data)
        self._close_messages_no_wait()

    # --- the terminal and the theme ---

    async def on_event(self, event: Event) -> None:
        """Input is handled in its order: a key waits for what the key before it caused."""
        if not (is_ordered(event) and self._order.holds(event)):
            await self._handle(event)

    async def _handle(self, event: Event) -> None:
        goes_down = isinstance(event, Key | Paste) and not event.is_forwarded
        if goes_down and isinstance(event, Key):
            self._session.key_pressed()
        target = (self.focused or self.screen) if goes_down else None
        await super().on_event(event)
        if target is not None:
            self._order.sent(event, target)

    def on_key_done(self, event: KeyDone) -> None:
        self._order.done(event)

    def _color_programs(self) -> None:
        """Programs' sixteen colours are those of the theme."""
        if colors := self._appearance.terminal(self.current_theme):
            if self.is_running:
                self.ansi_theme_dark = self.ansi_theme_light = colors
            else:
                self.set_reactive(App.ansi_theme_dark, colors)
                self.set_reactive(App.ansi_theme_light, colors)

    def watch_theme(self, name: str) -> None:
        """A theme was chosen: it is remembered."""
        from felan_tui.preferences import PreferencesError

        self._color_programs()
        self._keep_colors()
        try:
            self._appearance.choose(name)
        except PreferencesError as error:
            toast(self, f"The theme is not remembered: {error}", "warning")

    def _keep_colors(self) -> None:
        """The next start draws its first frame in the colours of now."""
        if self.is_running and self._shows_sessions:
            self._appearance.keep_colors(self.get_css_variables(), self.console.color_system)

    def on_terminal_background(self, event: "TerminalBackground") -> None:
        """The terminal answered: `system` follows it."""
        from felan_tui.terminal.background import is_dark

        if self._appearance.reported(is_dark(event.color)):
            for theme in self._appearance.themes:
                self.register_theme(theme)
            if self.theme == SYSTEM:
                self.mutate_reactive(FelanApp.theme)

    def on_terminal_input_failed(self, event: "TerminalInputFailed") -> None:
        """No key arrives any more: the same end as any other fault of ours."""
        raise event.error

    def on_terminal_paste_stalled(self) -> None:
        toast(self, "The end of the paste is missing. Ctrl+C or Esc Esc ends it here.", "warning")

    # --- keys where another screen is in front ---

    def action_interrupt(self) -> None:
        """Ctrl+C on the start card quits, or returns to the session behind it; elsewhere it is the
        session's.
        """
        from felan_tui.start.card import StartScreen

        if self._at_the_start:
            self.leave()
        elif isinstance(self.screen, StartScreen):
            self.screen.action_leave()
        else:
            self._session.action_interrupt()

    def action_go(self) -> None:
        """Ctrl+D on the start card quits; a question or a page of help in front is to be left first."""
        if self._at_the_start:
            self.leave()

    @property
    def _at_the_start(self) -> bool:
        return self._start.kind == "ask" and self.screen is not self._session

    # --- palette ---

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action of the table, by name."""
        from felan_tui.actions import ACTIONS

        target = self._session
        for act in ACTIONS:
            yield SystemCommand(act.title, f"{act.help} ({act.shown})", getattr(target, f"action_{act.name}"))
        yield SystemCommand("Theme", "choose another theme", self.action_change_theme)


def load(modules: Iterable[str]) -> None:
    """Import what is needed later, so that it is there when it is."""
    for name in modules:
        import_module(name)


def agent_settings(kind: str, command: str | None) -> dict[str, str]:
    """The extension settings of a session with this agent."""
    return {"agent.backend": kind, **({"agent.command": command} if command else {})}

"""What each step does: one function from a step to what happens, and to where the scenario goes on."""

from typing import Final

from felan_core.agents.backend import AgentError, AgentGone, Withdrawn
from felan_core.agents.rehearsal import acting
from felan_core.agents.rehearsal.asking import bound_by, fits, request_of
from felan_core.agents.rehearsal.play import Play
from felan_core.agents.rehearsal.showing import element_of, progress_of
from felan_core.agents.rehearsal.steps import (
    Append,
    Approval,
    Compact,
    Confirm,
    Crash,
    Delete,
    Document,
    Edit,
    End,
    Fail,
    FormStep,
    Goto,
    If,
    Input,
    Notice,
    Part,
    Progress,
    Publish,
    QuestionStep,
    Read,
    Remove,
    Rename,
    Run,
    Say,
    Select,
    SetVariable,
    Status,
    Think,
    Usage,
    View,
    Wait,
    Write,
)
from felan_core.agents.rehearsal.words import one_line

TICKS_A_SECOND: Final = 8
"""How often a progress moves: fast enough to be seen moving, slow enough to be one change at a time."""
FEWEST_TICKS: Final = 4


async def perform(play: Play) -> str | None:
    """Do the step that the play stands at. Returns the target to go on at, None for the next step.

    Raises ``AgentError`` (``fail``) and ``AgentGone`` (``crash``).
    """
    match play.scenario.steps[play.index]:
        case Say() as step:
            await _say(play, step)
        case Think() as step:
            speed = play.scenario.header.speed if step.speed is None else step.speed
            await play.voice.pour("thinking", play.fill(step.text), speed, play.led_away)
        case Wait() as step:
            await play.until(play.voice.rest(step.seconds))
        case Read() as step:
            await acting.read(play, step)
        case Write() | Edit() | Append() | Delete() as step:
            await acting.change(play, step)
        case Run() as step:
            await acting.run(play, step)
        case Publish() as step:
            await acting.publish(play, step)
        case Compact() as step:
            await acting.compact(play, step)
        case Approval() | Confirm() | Select() | Input() | FormStep() as step:
            await _question(play, step)
        case Status() | Document() | View() as step:
            await play.show(element_of(step, play.variables, play.context.clock()))
        case Progress() as step:
            await _progress(play, step)
        case Remove() as step:
            await play.take_down(step.id)
        case Notice() as step:
            title = one_line(play.fill(step.title))
            await play.session.notice(step.tone, title, play.fill(step.text), play.fill(step.details))
        case Rename() as step:
            await play.session.rename(one_line(play.fill(step.name), 60))
        case Usage() as step:
            await play.session.usage(step.used, step.size)
        case SetVariable() as step:
            play.bind(step.name, play.fill(step.value))
        case If() as step:
            wanted = (step.equals,) if isinstance(step.equals, str) else step.equals
            return step.goto if play.variables.get(step.name, "") in wanted else step.otherwise
        case Goto() as step:
            return step.to
        case End():
            return "@end"
        case Fail() as step:
            raise AgentError(one_line(play.fill(step.message), 500), play.fill(step.details))
        case Crash() as step:
            raise AgentGone(one_line(play.fill(step.message), 500), play.fill(step.details))
        case Part():
            pass
    return None


async def _say(play: Play, step: Say) -> None:
    speed = play.scenario.header.speed if step.speed is None else step.speed
    for number in range(1, step.repeat + 1):
        play.variables["i"] = str(number)
        # Repetitions join as they are: the text says itself whether they are lines or one long word.
        say = play.voice.pour if number == 1 else play.voice.flow
        await say("assistant", play.fill(step.text), speed, play.led_away)
        if play.led_away():
            break


async def _question(play: Play, step: QuestionStep) -> None:
    answered = play.answered()
    try:
        if answered is not None and fits(answered.request, answered.answer):
            answer = answered.answer
        else:
            answer = await play.ask(request_of(step, play.fill))
    except Withdrawn as withdrawn:
        play.bind(step.into, "withdrawn", reason=withdrawn.reason)
        return
    bound = bound_by(step, answer)
    play.bind(step.into, bound.pop(""), **bound)


async def _progress(play: Play, step: Progress) -> None:
    ticks = max(FEWEST_TICKS, round(step.seconds * TICKS_A_SECOND))
    play.moving = progress_of(step, play.variables, 0.0, "cancelled")
    await play.show(progress_of(step, play.variables, 0.0, "running"))
    for tick in range(1, ticks + 1):
        await play.until(play.voice.rest(step.seconds / ticks))
        play.moving = progress_of(step, play.variables, tick / ticks, "cancelled")
        if tick < ticks:
            await play.show(progress_of(step, play.variables, tick / ticks, "running"))
    await play.show(progress_of(step, play.variables, 1.0, "done"))
    play.moving = None

"""What the rehearsal really does to the machine: files of the folder, processes, the task pointer.

Nothing is changed and nothing runs before a person allowed exactly that: the approval holds the whole old
and new text of the file, or the whole command, and what is applied is what the approval holds, after a
restart too.
"""

import asyncio

from felan_core.agents.backend import AgentError, ProcessEnd, Withdrawn
from felan_core.agents.rehearsal.asking import ALWAYS, REJECT, may_do
from felan_core.agents.rehearsal.folder import FileChanged, FileRefused
from felan_core.agents.rehearsal.play import Play, firmly
from felan_core.agents.rehearsal.steps import (
    Append,
    ChangeStep,
    Compact,
    Delete,
    Edit,
    Publish,
    Read,
    Run,
    Write,
)
from felan_core.agents.rehearsal.words import last_line, one_line, pointer_told
from felan_core.protocol.base import UNSET, or_default
from felan_core.protocol.entries import ToolDiff, ToolProcess, ToolText
from felan_core.protocol.interactions import Answer, ApprovalAnswer, ApprovalRequest, DiffSubject

SHOWN = 16_000
"""Characters of a file that the tool call of a ``read`` shows."""
_VERBS: dict[type[ChangeStep], tuple[str, str, str]] = {
    Write: ("write", "edit", "Write"),
    Edit: ("edit", "edit", "Edit"),
    Append: ("edit", "edit", "Edit"),
    Delete: ("delete", "delete", "Delete"),
}


async def read(play: Play, step: Read) -> None:
    path = play.fill(step.path)
    await play.begin_tool(
        name="read", category="read", title=path, arguments={"path": path}, locations=[path]
    )
    try:
        text = await asyncio.to_thread(play.context.folder.read, path)
        if text is None:
            raise FileRefused(f"{path}: there is no such file")
    except FileRefused as error:
        await play.end_tool("failed", message=str(error))
        play.bind(step.into, "failed", reason=str(error))
        return
    await play.end_tool("completed", content=[ToolText(text=text[:SHOWN])])
    play.bind(step.into, "done", lines=str(len(text.splitlines())))


async def change(play: Play, step: ChangeStep) -> None:
    """Write, edit, append or delete: plan it, ask, and apply what was allowed."""
    name, category, verb = _VERBS[type(step)]
    answered = play.answered()
    path = play.fill(step.path)
    try:
        if answered is not None:
            plan = _approved(answered.request)
        else:
            plan = await asyncio.to_thread(_plan, play, step, path)
    except FileRefused as error:
        await play.begin_tool(name=name, category=category, title=path, arguments={"path": path})
        await play.end_tool("failed", message=str(error))
        play.bind(step.into, "failed", path=path, reason=str(error))
        return
    path = plan.path
    await play.begin_tool(
        name=name,
        category=category,
        title=path,
        arguments={"path": path},
        locations=[path],
        content=[ToolDiff(path=path, new=plan.new, old=plan.old)],
    )
    if plan.old == plan.new and not isinstance(step, Delete):
        await play.end_tool("completed", message="It reads so already.")
        play.bind(step.into, "done", path=path)
        return
    request = may_do(
        f"{verb} {path}", category=category, name=name, cwd=play.session.cwd, path=path, diff=plan
    )
    verdict, note = await _allowed(play, request, None if answered is None else answered.answer)
    if verdict != "allow":
        play.bind(step.into, verdict, path=path, note=note, reason=note)
        return
    await firmly(_apply(play, step, plan))


async def run(play: Play, step: Run) -> None:
    answered = play.answered()
    title = one_line(play.fill(step.title))
    beat = f"{step.beat * play.voice.pace:.3f}".rstrip("0").rstrip(".")
    command = step.command.replace("${beat}", beat)
    if answered is not None and isinstance(answered.request, ApprovalRequest):
        command = or_default(answered.request.subject.command, command)  # what was approved is what runs
    await play.begin_tool(name="bash", category="execute", title=title, arguments={"command": command})
    request = may_do(f"Run: {title}", category="execute", name="bash", cwd=play.session.cwd, command=command)
    verdict, note = await _allowed(play, request, None if answered is None else answered.answer)
    if verdict != "allow":
        play.bind(step.into, verdict, note=note, reason=note)
        return
    try:
        await firmly(_start(play, command, title))
    except AgentError as error:
        await play.end_tool("failed", message=error.message)
        play.bind(step.into, "failed", reason=error.message)
        return
    process = play.process
    assert process is not None  # _start keeps it or raises
    end = await play.until(play.session.process_end(process))
    play.process = None
    last = one_line(last_line(await play.session.process_tail(process, 4096)))
    await _ended(play, step, end, last)


async def publish(play: Play, step: Publish) -> None:
    try:
        await play.session.publish_pointer(play.fill(step.text))
    except AgentError as error:
        play.bind(step.into, "failed", reason=error.message)
    else:
        play.bind(step.into, "done")


async def compact(play: Play, step: Compact) -> None:
    """Forget what earlier steps bound, and learn what the host tells then."""
    summary = play.fill(step.summary)
    await play.voice.finish()
    await play.session.compacting(step.trigger)
    play.forget()
    told = await play.session.compacted(summary)
    play.bind(step.into, "done", **pointer_told(told))


def _plan(play: Play, step: ChangeStep, path: str) -> DiffSubject:
    """What the step would make of the file as it is now. Blocks. Raises ``FileRefused``."""
    folder = play.context.folder
    if isinstance(step, Write) and step.unique:
        path = folder.free_name(path)
    old = folder.read(path)
    match step:
        case Write():
            new = play.fill(step.text)
        case Append():
            new = (old or "") + play.fill(step.text)
        case Edit():
            if old is None:
                raise FileRefused(f"{path}: there is no such file")
            find = play.fill(step.find)
            places = old.count(find) if find else 0
            if places != 1:
                what = "does not hold what is to be replaced" if places == 0 else f"holds it {places} times"
                raise FileRefused(f"{path} {what}")
            new = old.replace(find, play.fill(step.replace))
        case Delete():
            if old is None:
                raise FileRefused(f"{path}: there is no such file")
            new = ""
    return DiffSubject(path=path, new=new, old=UNSET if old is None else old)


def _approved(request: object) -> DiffSubject:
    """The change that an approval of an earlier host asked about."""
    diffs = or_default(request.subject.diff, []) if isinstance(request, ApprovalRequest) else []
    if len(diffs) != 1:
        raise FileRefused("the approval is of something else")
    return diffs[0]


async def _allowed(play: Play, request: ApprovalRequest, before: Answer | None) -> tuple[str, str]:
    """(``allow``, ``rejected`` or ``withdrawn``, note): the answer, asked for where there is none ``before``.

    A tool call that may not go on is ended here.
    """
    category = request.subject.category
    if before is None and category in play.allowed:
        return "allow", ""
    try:
        answer = before if before is not None else await play.ask(request, play.tool)
    except Withdrawn as withdrawn:
        await play.end_tool("interrupted", reason=one_line(withdrawn.reason))
        return "withdrawn", withdrawn.reason
    option = answer.option if isinstance(answer, ApprovalAnswer) else REJECT
    note = or_default(answer.note, "") if isinstance(answer, ApprovalAnswer) else ""
    effect = next((one.effect for one in request.options if one.id == option), "reject_once")
    if effect.startswith("reject"):
        await play.end_tool("failed", reason="rejected", message=note)
        return "rejected", note
    if option == ALWAYS:
        play.allowed.add(category)
    return "allow", note


async def _apply(play: Play, step: ChangeStep, plan: DiffSubject) -> None:
    folder = play.context.folder
    old = None if plan.old is UNSET else or_default(plan.old, "")
    try:
        if isinstance(step, Delete):
            await asyncio.to_thread(folder.delete, plan.path, old or "")
        else:
            await asyncio.to_thread(folder.write, plan.path, old, plan.new)
    except FileRefused as error:
        changed = isinstance(error, FileChanged)
        await play.end_tool("failed", message=f"{error}. Nothing was written." if changed else str(error))
        play.bind(step.into, "changed" if changed else "failed", path=plan.path, reason=str(error))
        return
    await play.end_tool("completed")
    play.bind(step.into, "done", path=plan.path)


async def _start(play: Play, command: str, title: str) -> None:
    play.process = await play.session.start_process(command, title=title)
    await play.change_tool([ToolProcess(process=play.process)])


async def _ended(play: Play, step: Run, end: ProcessEnd, last: str) -> None:
    code = "" if end.exit_code is None else str(end.exit_code)
    match end.state:
        case "exited" if end.exit_code == 0:
            await play.end_tool("completed", exit_code=0)
            play.bind(step.into, "done", exit=code, last=last)
        case "exited":
            await play.end_tool("failed", exit_code=end.exit_code)
            play.bind(step.into, "failed", exit=code, last=last, reason=f"exit code {code}")
        case "signalled":
            signal = end.signal or "a signal"
            await play.end_tool("failed", reason="stopped", message=f"Ended by {signal}.")
            play.bind(step.into, "stopped", last=last, reason=signal)
        case "lost":
            await play.end_tool("failed", reason="lost", message="Its end was not seen.")
            play.bind(step.into, "failed", last=last, reason="its end was not seen")

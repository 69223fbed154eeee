"""Fetch the real agents that the `agents` tests talk to, pinned, into `.agents/` (`make test-agents`).

All are single native programs in npm packages, one package or version a platform, so that none needs Node
to run. Nothing is fetched twice. `program(NAME)` tells a test where the program is, or None if it was never
fetched.
"""

import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGENTS_DIR = ROOT / ".agents"


@dataclass(frozen=True)
class RealAgent:
    """An agent as npm has it: `package` and `binary` have `{platform}` where npm names the platform."""

    package: str
    version: str
    binary: str
    wants_avx2: bool = False
    tag: str = ""
    """What npm adds to the version where one package has a version a platform."""


AGENTS = {
    "opencode": RealAgent("opencode-{platform}", "1.18.33", "bin/opencode", wants_avx2=True),
    "codex": RealAgent("@zed-industries/codex-acp-{platform}", "0.16.0", "bin/codex-acp"),
    "claude-code": RealAgent("@anthropic-ai/claude-code-{platform}", "2.1.332", "claude"),
    "codex-cli": RealAgent("@openai/codex", "0.171.0", "vendor/*/bin/codex", tag="-{platform}"),
}


def npm_platform(*, wants_avx2: bool) -> str:
    """The platform as npm packages name it; `-baseline` is the build for processors without AVX2."""
    system = {"Linux": "linux", "Darwin": "darwin"}.get(platform.system(), platform.system().lower())
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}.get(
        platform.machine(), platform.machine()
    )
    cpuinfo = Path("/proc/cpuinfo")
    if wants_avx2 and machine == "x64" and cpuinfo.exists() and "avx2" not in cpuinfo.read_text():
        return f"{system}-{machine}-baseline"
    return f"{system}-{machine}"


def package_of(agent: RealAgent) -> str:
    return agent.package.format(platform=npm_platform(wants_avx2=agent.wants_avx2))


def program(name: str, agents_dir: Path = AGENTS_DIR) -> Path | None:
    """Where the fetched agent's program is, or None."""
    agent = AGENTS[name]
    package = agents_dir / f"{name}-{agent.version}" / "node_modules" / package_of(agent)
    return next((path for path in sorted(package.glob(agent.binary)) if path.is_file()), None)


def fetch(name: str, agents_dir: Path = AGENTS_DIR) -> Path:
    """Install one agent unless it is there; CalledProcessError or FileNotFoundError (no npm) say why not."""
    if (there := program(name, agents_dir)) is not None:
        return there
    agent = AGENTS[name]
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not on PATH; it comes with Node.js 20 or later")
    folder = agents_dir / f"{name}-{agent.version}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    quiet = [
        "--no-fund",
        "--no-audit",
        "--no-package-lock",
        "--ignore-scripts",
        "--no-update-notifier",
        "--loglevel=error",
    ]
    version = agent.version + agent.tag.format(platform=npm_platform(wants_avx2=agent.wants_avx2))
    subprocess.run([npm, "install", *quiet, f"{package_of(agent)}@{version}"], cwd=folder, check=True)
    if (there := program(name, agents_dir)) is None:
        raise FileNotFoundError(f"{package_of(agent)}@{agent.version} has no {agent.binary}")
    return there


def main(names: list[str]) -> int:
    failed = 0
    for name in names or list(AGENTS):
        try:
            print(f"{name} {AGENTS[name].version}: {fetch(name).relative_to(ROOT)}")
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} {AGENTS[name].version} could not be fetched: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

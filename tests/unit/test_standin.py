"""The stand-in's folder, and the commands `run` and `env` that lead programs to it."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate import standin
from groundstate.cli import env, run


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that takes the library's place, in a folder with a name that shells stumble over."""
    path = tmp_path / "it's a $HOME" / "libze_groundstate.so.1"
    path.parent.mkdir()
    path.touch()
    monkeypatch.setenv("GROUNDSTATE_LIBRARY", str(path))
    return path


def parse(*arguments: str) -> argparse.Namespace:
    """The arguments as the command line of `groundstate` understands them."""
    parser = argparse.ArgumentParser(prog="groundstate")
    commands = parser.add_subparsers()
    run.add_parser(commands)
    env.add_parser(commands)
    return parser.parse_args(arguments)


def groundstate_run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `groundstate run ...` in a process of its own, since it becomes the program."""
    return subprocess.run(
        [sys.executable, "-m", "groundstate.cli.main", "run", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


class TestFolder:
    def test_links_lead_to_the_library(self, built: Path) -> None:
        folder = standin.folder()
        assert folder == built.parent / "loader"
        assert sorted(entry.name for entry in folder.iterdir()) == sorted(standin.LINK_NAMES)
        for entry in folder.iterdir():
            assert entry.is_symlink()
            assert entry.samefile(built)

    def test_links_are_repaired(self, built: Path, tmp_path: Path) -> None:
        link = standin.folder() / "libze_loader.so.1"
        link.unlink()
        link.symlink_to(tmp_path / "nowhere")
        (link.parent / "libze_loader.so").unlink()
        standin.folder()
        assert all(entry.samefile(built) for entry in link.parent.iterdir())
        assert len(list(link.parent.iterdir())) == 2

    def test_read_only_place(
        self, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (built.parent / "loader").touch()  # nothing can be made there, not even by root
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        folder = standin.folder()
        assert folder.is_relative_to(tmp_path / "home" / ".cache" / "groundstate")
        assert (folder / "libze_loader.so.1").samefile(built)

    def test_no_place_at_all_but_a_temporary_one(
        self, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (built.parent / "loader").touch()
        monkeypatch.setenv("HOME", "/proc")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        squatted = tmp_path / f"{standin.PRIVATE_PREFIX}open"  # others can write to it
        squatted.mkdir(mode=0o777)
        squatted.chmod(0o777)
        folder = standin.folder()
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        assert folder.parent != squatted
        assert (folder / "libze_loader.so.1").samefile(built)
        assert standin.folder() == folder, "the next program uses the same one"

    def test_missing_library_says_how_to_build_it(self, built: Path) -> None:
        built.unlink()
        with pytest.raises(standin.LibraryMissing, match="make native"):
            standin.folder()


XLA_FLAGS = (
    "--xla_disable_hlo_passes=cublas-gemm-rewriter,conv-rewriter,transpose-folding "
    "--xla_backend_extra_options=-vectorize-slp=false,-spirv-fp-contract=fast"
)

COLLECTIVES = {
    "CCL_SYCL_KERNEL_SYNC": "0",
    "SYCL_QUEUE_THREAD_POOL_SIZE": "16",
    "UR_L0_USE_IMMEDIATE_COMMANDLISTS": "1",
}


class TestEnvironment:
    def test_stand_in_comes_first_and_only_once(self, built: Path) -> None:
        place = str(built.parent / "loader")
        changes = standin.environment({"LD_LIBRARY_PATH": f"/a:{place}::/b"})
        assert changes == {
            "LD_LIBRARY_PATH": f"{place}:/a:/b",
            "ZEL_LIBRARY_PATH": place,
            "ZE_ENABLE_ALT_DRIVERS": str(built),
            "XLA_FLAGS": XLA_FLAGS,
            **COLLECTIVES,
        }

    def test_real_loader_stays_in_its_place(self, built: Path) -> None:
        changes = standin.environment({"LD_LIBRARY_PATH": "/a"}, real_loader=True)
        named = {"ZE_ENABLE_ALT_DRIVERS": str(built), "XLA_FLAGS": XLA_FLAGS}
        assert changes == {**named, **COLLECTIVES}

    @pytest.mark.usefixtures("built")
    def test_settings_for_collectives_that_are_there_stay(self) -> None:
        own = dict.fromkeys(COLLECTIVES, "2")
        assert own.items() <= standin.environment(own).items()

    def test_opencl_compiler_follows_other_drivers(self, built: Path) -> None:
        compiler = built.with_name(standin.OPENCL_NAME)
        assert "OCL_ICD_FILENAMES" not in standin.environment({})
        compiler.touch()
        changes = standin.environment({"OCL_ICD_FILENAMES": f"{compiler}::/a.so"})
        assert changes["OCL_ICD_FILENAMES"] == f"/a.so:{compiler}"

    @pytest.mark.usefixtures("built")
    def test_xla_writes_its_kernels_itself(self) -> None:
        assert standin.environment({"XLA_FLAGS": XLA_FLAGS})["XLA_FLAGS"] == XLA_FLAGS
        both = standin.environment({"XLA_FLAGS": "--xla_dump_to=/a"})["XLA_FLAGS"]
        assert both == f"{XLA_FLAGS} --xla_dump_to=/a"
        assert "XLA_FLAGS" not in standin.environment({"XLA_FLAGS": "flags.txt"})

    def test_any_path_adds_auditor_to_existing_ones(self, built: Path) -> None:
        auditor = built.with_name("libze_redirect.so")
        changes = standin.environment({"LD_AUDIT": f"/a:{auditor}"}, any_path=True)
        assert changes["LD_AUDIT"] == f"{auditor}:/a"

    def test_options_become_knobs(self, built: Path) -> None:
        args = parse("env", "--topology", "2x4", "--memory", "8G", "--threads", "3")
        changes = run.driver_environment(args)
        assert changes["GROUNDSTATE_TOPOLOGY"] == "2x4"
        assert changes["GROUNDSTATE_MEMORY"] == "8G"
        assert changes["GROUNDSTATE_THREADS"] == "3"

    @pytest.mark.parametrize(
        "option", [("--topology", "0x2"), ("--memory", "lots"), ("--threads", "-1")]
    )
    def test_nonsense_is_refused(
        self, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            parse("run", *option, "--", "true")
        assert option[1] in capsys.readouterr().err


class TestEnv:
    def test_json(self, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert env.run(parse("env", "--json")) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["ZE_ENABLE_ALT_DRIVERS"] == str(built)

    def test_a_shell_takes_it_over(self, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert env.run(parse("env")) == 0
        script = capsys.readouterr().out + 'printf %s "$ZE_ENABLE_ALT_DRIVERS"'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == str(built)

    @pytest.mark.parametrize("value", ["plain", "it's", "a\\b", "$HOME `id` !x", "two\nlines"])
    def test_quoting(self, value: str) -> None:
        assert shlex.split(env.sh_line("NAME", value)) == ["export", f"NAME={value}"]
        fish = value.replace("\\", "\\\\").replace("'", "\\'")
        assert env.fish_line("NAME", value) == f"set -gx NAME '{fish}'"
        assert env.csh_line("NAME", value).startswith("setenv NAME '")

    def test_csh_quoting_escapes_history(self) -> None:
        assert env.csh_line("NAME", "a!b'c") == "setenv NAME 'a\\!b'\\''c';"


class TestRun:
    def test_exit_status_and_arguments_pass_through(self, built: Path) -> None:
        done = groundstate_run("--", "sh", "-c", 'echo "$1" "$2"; exit 42', "x", "--topology", "--")
        assert (done.returncode, done.stdout) == (42, "--topology --\n")

    def test_program_without_dashes(self, built: Path) -> None:
        done = groundstate_run("--threads", "5", "sh", "-c", "echo $GROUNDSTATE_THREADS")
        assert (done.returncode, done.stdout) == (0, "5\n")

    def test_program_sees_the_driver_first(self, built: Path) -> None:
        done = groundstate_run("--", "sh", "-c", "echo $LD_LIBRARY_PATH", LD_LIBRARY_PATH="/x")
        assert done.stdout == f"{built.parent / 'loader'}:/x\n"

    def test_program_not_found(self, built: Path) -> None:
        done = groundstate_run("--", "no-such-program")
        assert done.returncode == 127
        assert "there is no program 'no-such-program'" in done.stderr

    def test_program_that_cannot_be_started(self, built: Path, tmp_path: Path) -> None:
        done = groundstate_run("--", str(tmp_path))
        assert done.returncode == 126
        assert "cannot start" in done.stderr

    def test_no_path_leads_past_a_loader_that_stays(self, built: Path) -> None:
        done = groundstate_run("--any-path", "--real-loader", "--", "true")
        assert done.returncode == 2
        assert "--any-path takes the place of the loader" in done.stderr

    def test_nothing_to_run(self, built: Path) -> None:
        done = groundstate_run()
        assert done.returncode == 2
        assert "name a program" in done.stderr

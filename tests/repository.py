"""A project in a git repository of its own: real git, no configuration of the machine, commits as a test asks."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def needs(*tools):
    """Skip where a program is absent."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}, which is not installed here")


def call(folder, *command, data=None, **environment):
    done = subprocess.run(
        list(command),
        cwd=folder,
        env={**os.environ, **ALONE, **environment},
        input=data,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def git(folder, *arguments, **environment):
    return call(folder, "git", *arguments, **environment)


def init(folder):
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "core.autocrlf", "false")


def commit(folder, *paths, message="x", options=(), **environment):
    """Commit paths (all that is there without any); the commit."""
    git(folder, "add", "--", *(paths or (".",)))
    git(folder, "commit", "-q", "-m", message, *options, **environment)
    return git(folder, "rev-parse", "HEAD")

"""Was it promised first?  Evidence layer by layer, offline: history, signatures, time stamps.

Each layer holds, does not hold, or cannot be told (PARTIAL, with the reason).  None of them shows that no
other plan was registered elsewhere.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prereg import formats
from prereg.dataclass import dataclass
from prereg.errors import InputError, MissingError, Place, PreregError, Problem
from prereg.git import Git, blob, checkout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prereg.project import Project
    from prereg.registration import Registration

State = Literal["ok", "cosmetic", "unchecked", "partial", "missing", "FAILED"]
NAMESPACES = ("prereg", "file")
"""Namespaces of detached signatures: `ssh-keygen -Y sign -n prereg`."""
_BEGIN = b"-----BEGIN SSH SIGNATURE-----"
_MOST_BYTES = 1_000_000
_SECONDS = 60


@dataclass(frozen=True)
class Layer:
    """One layer of evidence."""

    name: str
    state: State
    detail: str


@dataclass(frozen=True)
class Trust:
    """Whom the reader trusts: files that are given, never taken from the project."""

    allowed_signers: Path | None = None
    ca_file: Path | None = None
    untrusted: Path | None = None


def layers(
    project: Project, registered: Registration, trust: Trust, git: Git | str | None = None
) -> list[Layer]:
    """The evidence that a registration came before its results."""
    here = checkout(project.root) if git is None else git
    return [
        _history(project, registered, here),
        _signature(project, registered, here, trust.allowed_signers),
        _stamp(project, registered, trust),
    ]


# -- history


def _history(project: Project, registered: Registration, git: Git | str) -> Layer:
    def said(state: State, detail: str) -> Layer:
        return Layer("history", state, detail)

    if isinstance(git, str):
        return said("partial", f"order cannot be proven: {git}")
    name = registered.name
    own = formats.read_bytes(project.inside(name), name, 200_000_000)
    committed = git.at("HEAD", name)
    if committed is None:
        return said("partial", "order cannot be proven: the registration is not committed")
    if committed != own:
        return said("FAILED", "the committed registration differs from the one here")
    first = next((c for c in git.added(name) if git.at(c, name) == own), None)
    if first is None:
        return said("partial", "order cannot be proven: no commit adds the registration as it is here")
    results = project.name_of(project.results(registered.id) / registered.short)
    adding = git.added(results)
    here = project.results(registered.id) / registered.short / "ledger.json"
    if not adding:
        if here.exists():
            return said("partial", f"registered in commit {first[:12]}; the ledger is not committed yet")
        return said("ok", f"registered in commit {first[:12]}; not run")
    edge = " (the history of this clone is cut short: git fetch --unshallow)" if git.shallow else ""
    for commit in adding:
        parents = git.parents(commit)
        before = [git.at(parent, name) == own for parent in parents]
        if parents and all(before):
            continue
        if git.at(commit, name) == own:
            return said(
                "partial",
                f"order cannot be proven: registration and results came in one commit, {commit[:12]}{edge}",
            )
        return said(
            "FAILED", f"results were committed in {commit[:12]}, before the registration in {first[:12]}"
        )
    return said("ok", f"registered in commit {first[:12]}, an ancestor of {adding[0][:12]} with the results")


def _kept(path: str) -> bool:
    """Whether a path is one that only ever is added."""
    parts = path.split("/")
    if not path.endswith(".json"):
        return path.endswith((".sig", ".tsr"))
    if parts[0] == "registrations":
        return True
    return parts[-1] == "ledger.json" or parts[2:3] == ["attempts"]


def removed(project: Project, git: Git | str, ids: Sequence[str] | None = None) -> Layer:
    """What history holds and is gone or changed: registrations, ledgers, attempts, witnesses, notes."""
    if isinstance(git, str):
        return Layer("nothing removed", "partial", f"cannot be told: {git}")
    folders = [f"{top}/{name}" for name in ids for top in ("registrations", "results")] if ids else []
    folders = folders or ["registrations", "results"]
    tracked = git.tracked(folders)
    found: dict[str, str] = {}
    for path, name in tracked.items():
        if not _kept(path):
            continue
        try:
            data = formats.read_bytes(project.inside(path), path, 200_000_000)
        except MissingError:
            found[path] = f"{path} is committed and not here"
            continue
        except InputError as error:
            found[path] = str(error)
            continue
        if blob(data, name) != name and not _attempt(path):
            found[path] = f"{path} is not as it was committed"
    for entry in git.changed(folders):
        if not _kept(entry.path) or entry.path in found:
            continue
        if entry.status == "D" and not project.root.joinpath(entry.path).exists():
            found[entry.path] = f"{entry.path} was removed in commit {entry.commit[:12]}"
        elif entry.status != "D" and not _attempt(entry.path):
            found[entry.path] = f"{entry.path} was changed in commit {entry.commit[:12]}"
    if found:
        more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
        hint = " (bring it back with git checkout; what is registered stays)"
        return Layer("nothing removed", "FAILED", "; ".join(list(found.values())[:5]) + more + hint)
    if git.shallow:
        return Layer("nothing removed", "partial", "the history of this clone is cut short")
    return Layer("nothing removed", "ok", "no registration, attempt, note or ledger was removed or changed")


def _attempt(path: str) -> bool:
    """An attempt is completed when it ends: its file changes once."""
    return path.split("/", maxsplit=1)[0] == "results" and path.split("/")[2:3] == ["attempts"]


# -- signatures


@dataclass(frozen=True)
class _Signed:
    what: str
    data: bytes
    signature: bytes
    namespaces: tuple[str, ...]


def _signature(project: Project, registered: Registration, git: Git | str, allowed: Path | None) -> Layer:
    try:
        found = list(_signed(project, registered, git))
    except PreregError as error:
        return Layer("signature", "FAILED", str(error))
    if not found:
        return Layer("signature", "unchecked", "nothing is signed")
    if allowed is None:
        what = ", ".join(dict.fromkeys(s.what for s in found))
        return Layer("signature", "unchecked", f"{what} is signed; --allowed-signers FILE checks it")
    if not allowed.is_file():
        raise MissingError(Problem("no such file", Place(str(allowed))))
    good: list[str] = []
    bad: list[str] = []
    unknown: list[str] = []
    for one in found:
        who = _signer(one, allowed)
        (bad if who is None else good if who else unknown).append(f"{one.what}{f' by {who}' if who else ''}")
    if bad:
        return Layer("signature", "FAILED", f"the signature does not fit: {'; '.join(bad)}")
    if good:
        return Layer("signature", "ok", f"signed: {'; '.join(good)}")
    return Layer("signature", "partial", f"signed by a key that is not allowed: {'; '.join(unknown)}")


def _signed(project: Project, registered: Registration, git: Git | str) -> Iterator[_Signed]:
    name = registered.name
    path = project.inside(name)
    own = formats.read_bytes(path, name, 200_000_000)
    beside = path.with_name(f"{path.name}.sig")
    if beside.exists() or beside.is_symlink():
        shown = project.name_of(beside)
        yield _Signed(shown, own, formats.read_bytes(beside, shown, _MOST_BYTES), NAMESPACES)
    if isinstance(git, str):
        return
    results = project.name_of(project.results(registered.id) / registered.short)
    first = next((c for c in git.added(name) if git.at(c, name) == own), None)
    raw = None if first is None or git.has(first, results) else git.run("cat-file", "commit", first)
    if first is not None and raw is not None:
        yield from _from_commit(first, raw)
    for commit, raw_tag in git.tags():
        data, begin, rest = raw_tag.partition(_BEGIN)
        if begin and git.at(commit, name) == own and not git.has(commit, results):
            tag = next(
                (x[4:] for x in data.decode("utf-8", "replace").splitlines() if x.startswith("tag ")), ""
            )
            yield _Signed(f"tag {tag}", data, begin + rest, ("git",))


def _from_commit(commit: str, raw: bytes) -> Iterator[_Signed]:
    """The signature in the header of a commit, and the commit without it."""
    head, gap, body = raw.partition(b"\n\n")
    kept, signature, inside = [], [], False
    for line in head.split(b"\n"):
        if line.startswith((b"gpgsig ", b"gpgsig-sha256 ")):
            inside = True
            signature.append(line.split(b" ", 1)[1])
        elif inside and line.startswith(b" "):
            signature.append(line[1:])
        else:
            inside = False
            kept.append(line)
    text = b"\n".join(signature)
    if text.startswith(_BEGIN):
        yield _Signed(f"commit {commit[:12]}", b"\n".join(kept) + gap + body, text + b"\n", ("git",))


def _signer(signed: _Signed, allowed: Path) -> str | None:
    """Who signed; empty where the key is not allowed, None where the signature does not fit the data."""
    with tempfile.TemporaryDirectory(prefix="prereg-") as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signed.signature)
        signature = ("-s", str(file))
        whole = any(
            _tool("ssh-keygen", "-Y", "check-novalidate", "-n", n, *signature, data=signed.data) is not None
            for n in signed.namespaces
        )
        if not whole:
            return None
        who = _tool("ssh-keygen", "-Y", "find-principals", "-f", str(allowed), *signature, data=b"")
        for principal in (who or b"").decode("utf-8", "replace").split("\n"):
            for namespace in signed.namespaces if principal else ():
                asked = ("-Y", "verify", "-f", str(allowed), "-I", principal, "-n", namespace, *signature)
                if _tool("ssh-keygen", *asked, data=signed.data) is not None:
                    return principal
    return ""


def _tool(*command: str, data: bytes) -> bytes | None:
    """What a program prints; None where it fails.

    Raises:
        MissingError: where the program is not installed.

    """
    try:
        done = subprocess.run(list(command), input=data, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return None
    except OSError:
        raise MissingError(f"{command[0]} is not installed: it is needed to check this layer") from None
    return done.stdout if done.returncode == 0 else None


# -- time stamps (RFC 3161)


def stamp_of(project: Project, registered: Registration) -> Path:
    """The file of the imported token of a registration."""
    return project.registrations(registered.id) / f"{registered.short}.tsr"


def _stamp(project: Project, registered: Registration, trust: Trust) -> Layer:
    path = stamp_of(project, registered)
    if not (path.exists() or path.is_symlink()):
        return Layer("time stamp", "unchecked", "no token is imported")
    name = str(path)
    try:
        name = project.name_of(path)
        data = formats.read_bytes(path, name, _MOST_BYTES)
    except PreregError as error:
        return Layer("time stamp", "FAILED", str(error))
    if not names(data, registered):
        return Layer("time stamp", "FAILED", f"{name}: this token is not for this registration")
    if trust.ca_file is None:
        return Layer("time stamp", "unchecked", f"{name} is there; --ca-file FILE checks it")
    if not trust.ca_file.is_file():
        raise MissingError(Problem("no such file", Place(str(trust.ca_file))))
    chain = () if trust.untrusted is None else ("-untrusted", str(trust.untrusted))
    base = ("openssl", "ts", "-verify", "-in", str(path), "-data", str(project.inside(registered.name)))
    for form in ((), ("-token_in",)):
        if _tool(*base, *form, "-CAfile", str(trust.ca_file), *chain, data=b"") is not None:
            text = _tool("openssl", "ts", "-reply", "-in", str(path), *form, "-text", data=b"") or b""
            lines = text.decode("utf-8", "replace").splitlines()
            when = next((x.partition(":")[2].strip() for x in lines if x.startswith("Time stamp:")), "")
            return Layer("time stamp", "ok", f"{name}: existed at {when}".rstrip())
    return Layer("time stamp", "FAILED", f"{name}: the token does not verify against {trust.ca_file.name}")


def names(token: bytes, registered: Registration) -> bool:
    """Whether a token's imprint is a digest of the bytes of the registration (DER OCTET STRING)."""
    own = registered.to_bytes()
    return any(
        bytes([4, hashlib.new(kind, own).digest_size]) + hashlib.new(kind, own).digest() in token
        for kind in ("sha256", "sha384", "sha512")
    )


def import_stamp(project: Project, registered: Registration, token: Path) -> tuple[Path, bool]:
    """Keep a token beside its registration: where, and whether it is new.

    Raises:
        InputError: where it is no token for this registration, or another one is kept already.
        MissingError: where there is no such file.

    """
    data = formats.read_bytes(token, str(token), _MOST_BYTES)
    place = Place(str(token))
    if not data.startswith(b"\x30"):
        raise InputError(Problem("no RFC 3161 token, which is DER and begins with the byte 30", place))
    if not names(data, registered):
        raise InputError(
            Problem(
                f"no RFC 3161 token for {registered.name}: its imprint is not the digest of that file", place
            )
        )
    path = stamp_of(project, registered)
    shown = project.name_of(path)
    if path.exists():
        if formats.read_bytes(path, shown, _MOST_BYTES) == data:
            return path, False
        raise InputError(Problem("another token is kept here already; it stays", Place(shown)))
    formats.write_atomic(path, data, exclusive=True)
    return path, True

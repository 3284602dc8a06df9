"""Order evidence with real git, real ssh-keygen and a time-stamping authority made here: what holds, and what not."""

from __future__ import annotations

import shutil

import pytest

import forge
from broken_projects import command
from forge import failed, made, verified
from prereg import order, registration
from prereg.project import Project
from repository import call, commit, git, init, needs


@pytest.fixture
def folder(tmp_path):
    needs("git")
    folder = tmp_path / "p"
    init(folder)
    return made(folder, forge.SMALL)


def history(folder, *options):
    return verified(folder, *options)[1]["history"]


LOCKED = ("protocol.yaml", "records.csv", ":(glob)registrations/small/*.json")


def both(folder):
    """Registration first, results in the next commit; the two commits."""
    return commit(folder, *LOCKED), commit(folder)


# History


def test_a_registration_committed_before_its_results_holds_and_names_both_commits(folder):
    first, second = both(folder)
    state, detail = history(folder)
    assert state == "ok"
    assert first[:12] in detail
    assert second[:12] in detail
    assert verified(folder)[1]["nothing removed"][0] == "ok"


def test_one_commit_for_both_proves_no_order(folder):
    only = commit(folder)
    state, detail = history(folder)
    assert state == "partial"
    assert f"in one commit, {only[:12]}" in detail
    assert "PARTIAL" in command("verify", "-C", str(folder)).out


def test_one_commit_after_another_still_proves_no_order(folder):
    commit(folder, "protocol.yaml")
    commit(folder)
    assert history(folder)[0] == "partial"


def test_results_committed_before_the_registration_fail(folder):
    early = commit(folder, "results")
    commit(folder)
    state, detail = history(folder)
    assert state == "FAILED"
    assert early[:12] in detail
    assert command("verify", "-C", str(folder)).code == 3


def test_a_table_committed_before_the_registration_fails(folder):
    table = forge.only(folder, "results/*/*/policies.csv")
    commit(folder, str(table))
    commit(folder, *LOCKED)
    commit(folder)
    assert history(folder)[0] == "FAILED"


def test_dates_of_commits_are_never_read(folder):
    early = {"GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    commit(folder, "protocol.yaml")
    commit(folder, "results")
    commit(folder, **early)  # the registration, dated twenty years before
    assert history(folder)[0] == "FAILED"


def test_a_registration_on_a_merged_branch_holds_only_if_the_results_descend_from_it(folder):
    base = commit(folder, "protocol.yaml", "records.csv")
    git(folder, "checkout", "-q", "-b", "lock")
    commit(folder, *LOCKED)
    git(folder, "checkout", "-q", "-b", "run", base)
    commit(folder, "results", "registrations/small/attempts")
    git(folder, "merge", "-q", "-m", "m", "lock")
    assert history(folder)[0] == "FAILED"


def test_results_on_a_branch_from_the_registration_hold_after_a_merge(folder):
    commit(folder, *LOCKED)
    git(folder, "checkout", "-q", "-b", "run")
    commit(folder)
    git(folder, "checkout", "-q", "main")
    (folder / "README").write_text("x")
    commit(folder, "README")
    git(folder, "merge", "-q", "-m", "m", "run")
    assert history(folder)[0] == "ok"


@pytest.mark.parametrize("what", ["nothing", "registration", "ledger"])
def test_what_is_not_committed_is_partial(folder, what):
    if what == "nothing":
        wanted = "nothing is committed yet"
    elif what == "registration":
        commit(folder, "records.csv")
        wanted = "the registration is not committed"
    else:
        commit(folder, *LOCKED)
        wanted = "the ledger is not committed yet"
    state, detail = history(folder)
    assert (state, wanted in detail) == ("partial", True), detail


def test_no_git_is_partial(tmp_path, monkeypatch):
    folder = made(tmp_path / "p", forge.SMALL)
    assert "in no git checkout" in history(folder)[1]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert history(folder) == ("partial", "order cannot be proven: git is not installed")


def test_a_shallow_clone_says_that_its_history_is_cut(folder, tmp_path):
    both(folder)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{folder}", str(clone))
    state, detail = history(clone)
    assert (state, "git fetch --unshallow" in detail) == ("partial", True)
    assert verified(clone)[1]["nothing removed"][0] == "partial"
    git(clone, "fetch", "-q", "--unshallow")
    assert history(clone)[0] == "ok"


def test_a_project_in_a_folder_of_a_repository(tmp_path):
    needs("git")
    init(tmp_path / "repo")
    folder = made(tmp_path / "repo" / "study", forge.SMALL)
    both(folder)
    assert history(folder)[0] == "ok"
    assert verified(folder)[1]["nothing removed"][0] == "ok"


def test_nothing_that_a_repository_configures_is_run(folder, tmp_path):
    both(folder)
    trap = tmp_path / "trap"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    keys = (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "gpg.program",
        "gpg.ssh.program",
        "filter.x.clean",
    )
    for key in (*keys, "filter.x.smudge", "core.sshCommand", "diff.x.textconv"):
        git(folder, "config", key, str(script))
    git(folder, "config", "log.showSignature", "true")
    (folder / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    assert history(folder)[0] == "ok"
    assert verified(folder)[1]["nothing removed"][0] == "ok"
    assert not trap.exists()


# What history holds and the folder does not


@pytest.mark.parametrize("pattern", ["registrations/*/attempts/*.json", forge.ATTEMPT, forge.LEDGER])
def test_what_was_committed_and_is_gone_fails(folder, pattern):
    both(folder)
    path = forge.only(folder, pattern)
    name = path.relative_to(folder).as_posix()
    path.unlink()
    code, checks = verified(folder)
    assert code == 3
    assert f"{name} is committed and not here" in checks["nothing removed"][1]
    gone = commit(folder)
    detail = verified(folder)[1]["nothing removed"][1]
    assert f"{name} was removed in commit {gone[:12]}" in detail


def test_the_last_attempt_and_its_witness_removed_are_seen_by_history(folder):
    command("run", "-C", str(folder))
    both(folder)
    last = next(p for p in folder.glob(forge.ATTEMPT) if forge.parts(p, "attempt")[0]["after"])
    digest = forge.LAYOUTS["attempt"].digest(forge.parts(last, "attempt")[0])
    last.unlink()
    (folder / "registrations" / "small" / "attempts" / f"{digest[:12]}.json").unlink()
    commit(folder)
    assert failed(folder) == {"nothing removed"}


def test_a_ledger_rewritten_in_a_later_commit_fails(folder):
    both(folder)
    forge.forge_ledger(folder, lambda c: c["data"]["arms"][0].update(units=7))
    changed = commit(folder, "results")
    code, checks = verified(folder)
    assert code == 3
    assert f"ledger.json was changed in commit {changed[:12]}" in checks["nothing removed"][1]
    assert checks["attempts"][0] == "ok"  # they were made to fit


# Signatures


def key(tmp_path, name="key"):
    needs("ssh-keygen")
    call(tmp_path, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(tmp_path / name))
    return tmp_path / name


def allowed(tmp_path, *keys):
    path = tmp_path / "allowed_signers"
    lines = [f"{k.name}@example.org {k.with_suffix('.pub').read_text().strip()}\n" for k in keys]
    path.write_text("".join(lines))
    return path


def signature(folder, *options):
    return verified(folder, *options)[1]["signature"]


def detached(folder, signer, namespace="prereg"):
    path = forge.only(folder, forge.REGISTRATION)
    call(folder, "ssh-keygen", "-Y", "sign", "-q", "-f", str(signer), "-n", namespace, str(path))
    return path.with_name(f"{path.name}.sig")


@pytest.mark.parametrize("namespace", ["prereg", "file"])
def test_a_detached_signature_holds(folder, tmp_path, namespace):
    signer = key(tmp_path)
    detached(folder, signer, namespace)
    state, detail = signature(folder)
    assert (state, "--allowed-signers" in detail) == ("unchecked", True)
    state, detail = signature(folder, "--allowed-signers", str(allowed(tmp_path, signer)))
    assert (state, "by key@example.org" in detail) == ("ok", True)


def test_a_signature_by_a_key_that_is_not_allowed_is_partial(folder, tmp_path):
    detached(folder, key(tmp_path))
    other = allowed(tmp_path, key(tmp_path, "other"))
    assert signature(folder, "--allowed-signers", str(other))[0] == "partial"


def test_a_signature_of_other_bytes_fails(folder, tmp_path):
    signer = key(tmp_path)
    path = detached(folder, signer)
    other = tmp_path / "other.json"
    other.write_text("{}")
    call(folder, "ssh-keygen", "-Y", "sign", "-q", "-f", str(signer), "-n", "prereg", str(other))
    shutil.copy(f"{other}.sig", path)
    assert failed(folder, "--allowed-signers", str(allowed(tmp_path, signer))) == {"signature"}


def test_a_signed_commit_of_the_registration_holds(folder, tmp_path):
    signer = key(tmp_path)
    git(folder, "config", "gpg.format", "ssh")
    git(folder, "config", "user.signingKey", str(signer))
    first = commit(folder, *LOCKED, options=("-S",))
    commit(folder)
    state, detail = signature(folder, "--allowed-signers", str(allowed(tmp_path, signer)))
    assert (state, f"commit {first[:12]} by key@example.org" in detail) == ("ok", True)


def test_a_signed_commit_that_brings_the_results_too_signs_no_order(folder, tmp_path):
    signer = key(tmp_path)
    git(folder, "config", "gpg.format", "ssh")
    git(folder, "config", "user.signingKey", str(signer))
    commit(folder, options=("-S",))
    assert signature(folder, "--allowed-signers", str(allowed(tmp_path, signer))) == (
        "unchecked",
        "nothing is signed",
    )


def test_a_signed_tag_before_the_results_holds(folder, tmp_path):
    signer = key(tmp_path)
    git(folder, "config", "gpg.format", "ssh")
    git(folder, "config", "user.signingKey", str(signer))
    commit(folder, *LOCKED)
    git(folder, "tag", "-s", "-m", "locked", "locked-1")
    commit(folder)
    state, detail = signature(folder, "--allowed-signers", str(allowed(tmp_path, signer)))
    assert (state, "tag locked-1 by key@example.org" in detail) == ("ok", True)


def test_a_missing_file_of_signers_is_missing(folder, tmp_path):
    detached(folder, key(tmp_path))
    said = command("verify", "-C", str(folder), "--allowed-signers", str(tmp_path / "none"))
    assert said.code == 4


# Time stamps


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority and a time-stamping service, as files: no network."""
    needs("openssl")
    folder = tmp_path_factory.mktemp("tsa")
    subject = ("-subj", "/CN=Test root")
    call(
        folder,
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject),
        *("-keyout", "ca.key", "-out", "ca.pem"),
    )
    call(
        folder,
        *("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Test TSA"),
        *("-keyout", "tsa.key", "-out", "tsa.csr"),
    )
    (folder / "ext").write_text(
        "extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n"
    )
    call(
        folder,
        *(
            "openssl",
            "x509",
            "-req",
            "-in",
            "tsa.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
        ),
        *("-days", "2", "-extfile", "ext", "-out", "tsa.pem"),
    )
    (folder / "serial").write_text("01\n")
    (folder / "tsa.cnf").write_text(
        "[tsa]\ndefault_tsa=t\n[t]\nserial=serial\ncrypto_device=builtin\nsigner_cert=tsa.pem\nsigner_key=tsa.key\n"
        "certs=ca.pem\nsigner_digest=sha256\ndefault_policy=1.2.3.4.1\ndigests=sha256,sha512\nordering=yes\n"
        "tsa_name=no\ness_cert_id_chain=no\ness_cert_id_alg=sha256\n"
    )
    return folder


def token(authority, path, out, digest="sha256", bare=False):
    call(authority, "openssl", "ts", "-query", "-data", str(path), f"-{digest}", "-cert", "-out", "q.tsq")
    form = ("-token_out",) if bare else ()
    call(
        authority,
        *("openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "q.tsq"),
        *form,
        "-out",
        str(out),
    )
    return out


def stamp(folder, token_file):
    return command("stamp", "import", str(token_file), "--for", "small", "-C", str(folder))


@pytest.mark.parametrize("form", [("sha256", False), ("sha512", False), ("sha256", True)])
def test_an_imported_token_holds_against_its_authority(folder, tmp_path, authority, form):
    path = forge.only(folder, forge.REGISTRATION)
    said = stamp(folder, token(authority, path, tmp_path / "t.tsr", *form))
    assert said.code == 0, said.err
    assert path.with_suffix(".tsr").exists()
    state, detail = verified(folder)[1]["time stamp"]
    assert (state, "--ca-file" in detail) == ("unchecked", True)
    state, detail = verified(folder, "--ca-file", str(authority / "ca.pem"))[1]["time stamp"]
    assert (state, "existed at" in detail) == ("ok", True), detail
    assert "imported already" in stamp(folder, tmp_path / "t.tsr").out


def test_a_token_of_another_authority_fails(folder, tmp_path, authority):
    stamp(folder, token(authority, forge.only(folder, forge.REGISTRATION), tmp_path / "t.tsr"))
    call(
        tmp_path,
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Other"),
        *("-keyout", "o.key", "-out", "o.pem"),
    )
    assert failed(folder, "--ca-file", str(tmp_path / "o.pem")) == {"time stamp"}


def test_a_token_for_another_file_is_not_imported_and_fails_when_put_there(folder, tmp_path, authority):
    other = tmp_path / "other"
    other.write_text("x")
    wrong = token(authority, other, tmp_path / "t.tsr")
    said = stamp(folder, wrong)
    assert said.code == 2
    assert "no RFC 3161 token for registrations/small/" in said.err
    shutil.copy(wrong, forge.only(folder, forge.REGISTRATION).with_suffix(".tsr"))
    assert failed(folder) == {"time stamp"}


def test_a_second_token_does_not_replace_the_first(folder, tmp_path, authority):
    path = forge.only(folder, forge.REGISTRATION)
    assert stamp(folder, token(authority, path, tmp_path / "a.tsr")).code == 0
    kept = path.with_suffix(".tsr").read_bytes()
    said = stamp(folder, token(authority, path, tmp_path / "b.tsr"))
    assert (said.code, path.with_suffix(".tsr").read_bytes()) == (2, kept)


@pytest.mark.parametrize("data", [b"", b"0", b"no token", b"\x30\x03\x02\x01\x00"])
def test_what_is_no_token_is_not_imported(folder, tmp_path, data):
    (tmp_path / "t").write_bytes(data)
    assert stamp(folder, tmp_path / "t").code == 2
    assert stamp(folder, tmp_path / "none").code == 4
    assert command("stamp", "import", str(tmp_path / "t"), "--for", "other", "-C", str(folder)).code == 4


def test_a_changed_byte_of_a_token_never_verifies_as_another_time(folder, tmp_path, authority):
    stamp(folder, token(authority, forge.only(folder, forge.REGISTRATION), tmp_path / "t.tsr"))
    project = Project.at(folder)
    registered = registration.current(project, "small")
    path = order.stamp_of(project, registered)
    data = path.read_bytes()
    trust = order.Trust(ca_file=authority / "ca.pem")
    good = order.layers(project, registered, trust, "left out")[2]
    assert good.state == "ok"
    for at in range(7, len(data), max(1, len(data) // 25)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        found = order.layers(project, registered, trust, "left out")[2]
        assert found.state == "FAILED" or found == good, at

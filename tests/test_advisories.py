"""Known faults of locked packages, looked up without asking anybody."""

import json
import zipfile

import pytest
from tools import advisories

LOCK = "One_Thing==1.4.2 ; sys_platform == 'linux' \\\n    --hash=sha256:0\nother==2.0 \\\n    --hash=sha256:1\n"


def advisory(name="one-thing", ecosystem="PyPI", **affected):
    package = {"name": name, "ecosystem": ecosystem}
    return {"id": "X-1", "summary": "a fault", "affected": [{"package": package, **affected}]}


def within(*events):
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}


CASES = [
    (advisory(versions=["1.4.1", "1.4.2"]), 1),
    (advisory(versions=["1.4.1"]), 0),
    (advisory(**within({"introduced": "0"}, {"fixed": "1.5"})), 1),
    (advisory(**within({"introduced": "0"}, {"fixed": "1.4.2"})), 0),
    (advisory(**within({"introduced": "1.4.2"})), 1),
    (advisory(**within({"introduced": "1.4.3"})), 0),
    (advisory(**within({"introduced": "0"}, {"last_affected": "1.4.2"})), 1),
    (advisory(**within({"introduced": "0"}, {"last_affected": "1.4.1"})), 0),
    (advisory(**within({"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.4"}, {"fixed": "1.5"})), 1),
    (advisory(name="third", versions=["1.4.2"]), 0),
    (advisory(ecosystem="npm", versions=["1.4.2"]), 0),
    ({**advisory(versions=["1.4.2"]), "withdrawn": "2026-01-01"}, 0),
]


@pytest.mark.parametrize(("about", "status"), CASES)
@pytest.mark.parametrize("packed", [True, False])
def test_a_locked_version_is_looked_up(about, status, packed, tmp_path, capsys):
    (tmp_path / "lock.txt").write_text(LOCK)
    database = tmp_path / ("all.zip" if packed else "all")
    if packed:
        with zipfile.ZipFile(database, "w") as archive:
            archive.writestr("X-1.json", json.dumps(about))
    else:
        database.mkdir()
        (database / "X-1.json").write_text(json.dumps(about))
    assert advisories.main([str(tmp_path / "lock.txt"), str(database)]) == status
    said = capsys.readouterr().out
    assert ("one-thing 1.4.2: X-1 a fault" in said) is bool(status)
    assert "2 locked packages" in said


@pytest.mark.parametrize("database", [[], [""], ["nowhere"]])
def test_that_nothing_was_looked_up_is_said(database, tmp_path, capsys):
    (tmp_path / "lock.txt").write_text(LOCK)
    assert advisories.main([str(tmp_path / "lock.txt"), *database]) == advisories.NOTHING_LOOKED_UP
    assert "of 2 locked packages none was looked up" in capsys.readouterr().out

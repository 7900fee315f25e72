"""What all tests share: a Numba disk cache that can never serve stale code, and a collector that keeps pace."""

import gc
import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DAY = 24 * 3600


def _use_cache_of_these_sources() -> None:
    # Numba notices a change of the file that defines a cached function, not of the files it calls into. So the
    # cache's folder is named after all of jitgrad's sources; set before Numba is imported, and for child processes.
    digest = hashlib.sha256()
    for path in sorted((ROOT / "jitgrad").rglob("*.py")):
        digest.update(path.read_bytes())
    base = ROOT / ".cache" / "numba"
    folder = base / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(folder))
    for old in base.iterdir():
        if old != folder and time.time() - old.stat().st_mtime > DAY:
            shutil.rmtree(old, ignore_errors=True)


_use_cache_of_these_sources()


@pytest.fixture(scope="module", autouse=True)
def _frozen():
    """Numba never frees what it compiled: a worker ends with millions of objects, and each full collection would take
    seconds. What is alive before a module is no garbage of its tests, so the collector need not look at it again."""
    gc.collect()
    gc.freeze()

"""What all tests share: a Numba disk cache that can never serve stale code."""

import hashlib
import os
import shutil
import time
from pathlib import Path

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

"""Tasks, store, driver and executors. The engine knows nothing about explanations.

A task is a pure function with a version, bound to parameters and inputs; its key is a digest of those. The driver
computes what a store does not hold yet; running again resumes.
"""

from trueness.engine.clusters import open_engine
from trueness.engine.driver import Survey, run, survey
from trueness.engine.files import StoreError, disk, write_atomically
from trueness.engine.local import LocalExecutor, cores
from trueness.engine.payload import in_parts
from trueness.engine.progress import ProgressFile, read_progress
from trueness.engine.store import DamagedObjectError, Store, Stored
from trueness.engine.summary import EngineLostError, Failure, Listener, Summary, TasksFailedError, TimeUpError
from trueness.engine.task import Task, TaskType, task, walk
from trueness.engine.timing import Timing, chains, ends_after
from trueness.engine.warm import begin
from trueness.engine.worker import current_device

__all__ = [
    "DamagedObjectError",
    "EngineLostError",
    "Failure",
    "Listener",
    "LocalExecutor",
    "ProgressFile",
    "Store",
    "StoreError",
    "Stored",
    "Summary",
    "Survey",
    "Task",
    "TaskType",
    "TasksFailedError",
    "TimeUpError",
    "Timing",
    "begin",
    "chains",
    "cores",
    "current_device",
    "disk",
    "ends_after",
    "in_parts",
    "open_engine",
    "read_progress",
    "run",
    "survey",
    "task",
    "walk",
    "write_atomically",
]

"""A clock that moves when told, and executors that answer from a list: no test waits or starts a process."""

from concurrent.futures import Executor, Future

from trueness.engine.worker import Outcome


class Clock:
    """Stands for the module `time`; sleeping moves it on."""

    def __init__(self, now=100.0):
        self.now, self.slept = now, []

    def monotonic(self):
        return self.now

    def time(self):
        return 1e9 + self.now

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def settled(answer):
    """A future that is done: with an error if that is what is given."""
    future = Future()
    if isinstance(answer, BaseException):
        future.set_exception(answer)
    else:
        future.set_result(answer)
    return future


class Answers(Executor):
    """Gives the answers of a list, one per task; notes what was asked of it, and when."""

    def __init__(self, *answers, clock=None):
        self.answers, self.clock = list(answers), clock
        self.asked, self.times = [], []

    def submit(self, fn, /, *args, **kwargs):
        self.asked.append((fn, args, kwargs))
        if self.clock is not None:
            self.times.append(self.clock.now)
        return settled(self.answers.pop(0) if self.answers else Outcome("computed", 1.0))


class Deaf(Executor):
    """Takes tasks and never answers; says from a list whether a worker lives, and no more once that is over."""

    def __init__(self, *said, **facts):
        self.said, self.looks, self.futures = list(said), 0, []
        vars(self).update(facts)

    def submit(self, fn, /, *args, **kwargs):
        self.futures.append(Future())
        return self.futures[-1]

    def alive(self):
        self.looks += 1
        return self.said.pop(0) if self.said else False

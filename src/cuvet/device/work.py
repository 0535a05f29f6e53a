"""Which work is not finished yet. No work takes time; a launch counts as running for the next two questions about it, so that a
program sees CUDA_ERROR_NOT_READY as it would on hardware (measured: event_elapsed_notready)."""

from dataclasses import dataclass, field

QUESTIONS = 2


@dataclass(slots=True, eq=False)
class Work:
    """What was enqueued on ``stream``. It is running as long as questions are left."""

    questions: int = QUESTIONS

    @property
    def running(self) -> bool:
        return self.questions > 0

    def ask(self) -> bool:
        """Whether it is running; the question counts."""
        if self.questions:
            self.questions -= 1
            return True
        return False


@dataclass(slots=True)
class Timeline:
    """Streams are named by the key under which the shim queues their host functions. Key 1 is the legacy default stream."""

    streams: dict[int, Work] = field(default_factory=dict)
    events: dict[int, Work] = field(default_factory=dict)
    recorded_on: dict[int, int] = field(default_factory=dict)

    def launch(self, stream: int) -> None:
        self.streams[stream] = Work()

    def record(self, event: int, stream: int) -> None:
        work = self.streams.get(stream)
        self.recorded_on[event] = stream
        if work is not None and work.running:
            self.events[event] = work
        else:
            self.events.pop(event, None)

    def busy(self, stream: int) -> bool:
        """Whether it is running; this is not a question."""
        work = self.streams.get(stream)
        return work is not None and work.running

    def stream_running(self, stream: int) -> bool:
        work = self.streams.get(stream)
        return work is not None and work.ask()

    def event_running(self, event: int) -> bool:
        work = self.events.get(event)
        return work is not None and work.ask()

    def finish(self) -> None:
        """Something waited: everything that was enqueued is done."""
        for work in (*self.streams.values(), *self.events.values()):
            work.questions = 0

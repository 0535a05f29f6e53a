import logging
import queue
import threading
from concurrent.futures import Future

import numpy as np

from engine import Engine

log = logging.getLogger("worker")


class BatchWorker(threading.Thread):
    def __init__(self, engine: Engine, labels, linger=0.004):
        super().__init__(daemon=True)
        self.engine = engine
        self.labels = labels
        self.linger = linger
        self.inbox = queue.Queue()
        self._halt = threading.Event()

    def classify(self, image) -> Future:
        fut = Future()
        self.inbox.put((image, fut))
        return fut

    def stop(self):
        self._halt.set()
        self.join()

    def _collect(self):
        jobs = []
        try:
            jobs.append(self.inbox.get(timeout=0.1))
            while len(jobs) < self.engine.max_batch:
                jobs.append(self.inbox.get(timeout=self.linger))
        except queue.Empty:
            pass
        return jobs

    def run(self):
        while not self._halt.is_set():
            jobs = self._collect()
            if not jobs:
                continue
            try:
                ticket = self.engine.submit(np.stack([j[0] for j in jobs]))
                scores = ticket.scores()
            except Exception as exc:
                log.exception("batch failed")
                for _, fut in jobs:
                    fut.set_exception(exc)
                continue
            best = scores.argmax(axis=1)
            for row, k, (_, fut) in zip(scores, best, jobs):
                fut.set_result((self.labels[k], float(row[k])))

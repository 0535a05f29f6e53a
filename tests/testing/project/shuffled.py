"""A plugin: runs the tests in an order that only the number in SHUFFLED decides."""

import os
import random


def pytest_collection_modifyitems(items):
    random.Random(os.environ["SHUFFLED"]).shuffle(items)

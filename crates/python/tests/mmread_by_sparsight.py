"""A plugin of pytest, for scipy's own tests of ``mmread``: they get ``sparsight.read`` in its place. See test_scipy_mmread.py."""

import json
import os

import scipy.io
import scipy.io._fast_matrix_market
import scipy.io._mmio
import scipy.sparse as sp

import sparsight


def in_the_place_of(mmread, mminfo):
    def read(source, *, spmatrix=True):
        begin = source.tell() if hasattr(source, "tell") else None

        def from_its_begin():
            if begin is not None:
                source.seek(begin)
            return source

        try:
            a = sparsight.read(source)
        except sparsight.BadMatrix:
            # What scipy refuses, too, it refuses in its own words and with an exception of its own.
            mmread(from_its_begin(), spmatrix=spmatrix)
            raise
        # Of a dense file scipy makes a dense array.
        if mminfo(from_its_begin())[3] == "array":
            return a.toarray()
        return sp.coo_matrix(a) if spmatrix else sp.coo_array(a)

    return read


for module in (scipy.io._mmio, scipy.io._fast_matrix_market, scipy.io):
    module.mmread = in_the_place_of(module.mmread, module.mminfo)

outcomes = {}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        why = str(report.longrepr.reprcrash.message) if report.failed else ""
        outcomes[report.nodeid.partition("::")[2]] = (report.outcome, why)


def pytest_sessionfinish():
    with open(os.environ["SPARSIGHT_TEST_OUTCOMES"], "w") as file:
        json.dump(outcomes, file)

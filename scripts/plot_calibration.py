"""Plot which verdicts come out where the truth is known."""

from matplotlib.figure import Figure

from onelayer.calibration.figure import figure_calibration
from onelayer.figures import draw
from onelayer.step import Step
from onelayer.tables import read_csv


def main(step: Step) -> Figure:
    return figure_calibration(read_csv(step.inputs.table))


if __name__ == "__main__":
    draw(main, inputs=["table"])

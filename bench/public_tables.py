#!/usr/bin/env python3
"""Where the public tables are had that the built-in trainers are tried on; they are not in the repository.

    bench/public_tables.py               a table of them: name, rows and columns, task, address, label
    bench/public_tables.py --get NAME FOLDER   downloads one (up to 2.6 GB) and unpacks it there

Addresses are those of the UCI Machine Learning Repository (CC BY 4.0 unless its page says otherwise), OpenML and
scikit-learn. The bank data are those of scripts/get-data.sh, MNIST is that of WINNOW_DATA_DIR. Where only Debian's
packages are reached, `letter` is also LetterRecognition of r-cran-mlbench, written by R's
write.csv(LetterRecognition, FILE, row.names=FALSE, quote=FALSE).
"""

import argparse
import pathlib
import sys
import tarfile
import urllib.request
import zipfile

UCI = "https://archive.ics.uci.edu/static/public"
# Name, rows, columns without the label, task, address, label.
TABLES = [
    ("adult", 48_842, 14, "2 classes", f"{UCI}/2/adult.zip", "the last column of adult.data"),
    ("bank", 41_188, 20, "2 classes", f"{UCI}/222/bank+marketing.zip", "y of bank-additional-full.csv"),
    ("california-housing", 20_640, 8, "regression", "https://ndownloader.figshare.com/files/5976036",
     "the ninth column of cal_housing.data, as sklearn.datasets.fetch_california_housing reads it"),
    ("covertype", 581_012, 54, "7 classes", f"{UCI}/31/covertype.zip", "the last column of covtype.data.gz"),
    ("dry-bean", 13_611, 16, "7 classes", f"{UCI}/602/dry+bean+dataset.zip", "Class"),
    ("electricity", 45_312, 8, "2 classes, drifting", "https://www.openml.org/d/151", "class"),
    ("higgs", 11_000_000, 28, "2 classes", f"{UCI}/280/higgs.zip", "the first column of HIGGS.csv.gz"),
    ("letter", 20_000, 16, "26 classes", f"{UCI}/59/letter+recognition.zip", "the first column of letter-recognition.data"),
    ("magic", 19_020, 10, "2 classes", f"{UCI}/159/magic+gamma+telescope.zip", "the last column of magic04.data"),
    ("sgemm", 241_600, 14, "regression", f"{UCI}/440/sgemm+gpu+kernel+performance.zip",
     "the logarithm of the mean of the last four columns of sgemm_product.csv"),
    ("wine-quality", 6_497, 11, "regression", f"{UCI}/186/wine+quality.zip", "quality of winequality-*.csv"),
    ("year", 515_345, 90, "regression", f"{UCI}/203/yearpredictionmsd.zip", "the first column of YearPredictionMSD.txt"),
]


def get(name, folder):
    address = {row[0]: row[4] for row in TABLES}.get(name)
    if not address:
        sys.exit(f"--get {name}: expected one of {', '.join(row[0] for row in TABLES)}")
    if "openml.org/d/" in address:
        sys.exit(f"--get {name}: OpenML's page has the file: {address}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / address.rsplit("/", 1)[1]
    part = path.with_name(path.name + ".part")
    try:
        with urllib.request.urlopen(address, timeout=60) as answer, open(part, "wb") as file:
            while piece := answer.read(1 << 20):
                file.write(piece)
    except OSError as error:
        sys.exit(f"--get {name}: {address}: {getattr(error, 'reason', error)}")
    part.rename(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    print(*sorted(str(file) for file in folder.rglob("*") if file.is_file()), sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--get", nargs=2, metavar=("NAME", "FOLDER"))
    options = parser.parse_args()
    if options.get:
        get(options.get[0], pathlib.Path(options.get[1]))
        return
    print("| name | rows | columns | task | address | label |\n| --- | --- | --- | --- | --- | --- |")
    for name, rows, columns, task, address, label in TABLES:
        print(f"| {name} | {rows:,} | {columns} | {task} | {address} | {label} |")


if __name__ == "__main__":
    main()

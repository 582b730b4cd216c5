"""A script with --flag value arguments that prints a line of JSON per evaluation, as Hugging Face's examples log."""
import argparse
import json
import math

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, required=True)
parser.add_argument("--weight_decay", type=float, default=0.0)
parser.add_argument("--num_train_epochs", type=int, default=5)
arguments = parser.parse_args()

distance = math.log10(arguments.learning_rate) + 2  # the best learning rate is 0.01
print("***** Running training *****")
for epoch in range(1, arguments.num_train_epochs + 1):
    loss = 0.3 + 0.2 * distance ** 2 + arguments.weight_decay + math.exp(-epoch)
    if arguments.learning_rate > 0.9:
        loss = math.nan  # it diverges
    print(json.dumps({"epoch": epoch, "train_runtime": 0.1 * epoch, "eval": {"loss": loss}}), flush=True)

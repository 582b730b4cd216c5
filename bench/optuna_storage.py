"""Reports per second that Optuna's RDB storage takes on a SQLite file, from one process: prints one number."""

import sys
import time

import optuna


def main():
    file, seconds = sys.argv[1], float(sys.argv[2])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage="sqlite:///" + file, study_name="bench")
    trial = study.ask()
    storage = study._storage
    backend = getattr(storage, "_backend", storage)  # without the cache in front of it
    begin = time.perf_counter()
    step = 0
    while time.perf_counter() - begin < seconds:
        step += 1
        backend.set_trial_intermediate_value(trial._trial_id, step, 1.0 / step)
    print(step / (time.perf_counter() - begin))


if __name__ == "__main__":
    main()

"""Sends bursts of signals to a server, from its start to its end: `signal_bursts.py REALMFS FILE POINT ROUNDS SEED`.

Each round mounts FILE, saves objects from two threads, and at a random moment sends SIGTERM, SIGINT and SIGHUP, 5 to 20
of them or until the process has ended. Prints a line for each round with a wrong end, then a summary.
"""
import json, os, random, signal, subprocess, sys, threading, time

realmfs, file, point, rounds, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
signals = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
kinds = [[], ["-o", "group_commit=2000"], ["--single-thread"]]
chance = random.Random(seed)
faults = 0


def mounts():
    with open("/proc/self/mounts") as table:
        return sum(line.split()[1] == point for line in table)


def save(name, value):
    """Saves an object; returns True if the save was acknowledged."""
    try:
        file = os.open(f"{point}/Person/{name}.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError:
        return False
    try:
        text = json.dumps({"name": value}).encode()
        isWhole = os.write(file, text) == len(text)
    except OSError:
        isWhole = False
    try:
        os.close(file)
        return isWhole
    except OSError:
        return False


def writer(name, acknowledged, attempted, stop):
    number = 0
    while not stop.is_set():
        number += 1
        attempted[name] = number
        if save(name, f"{number}"): acknowledged[name] = number
        else: time.sleep(0.001)


def has_ended(process, seconds):
    """True if the process ends in that time; unlike `wait`, polls without sleeping."""
    end = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > end: return False
        time.sleep(0.0001)
    return True


for number in range(rounds):
    options = kinds[number % len(kinds)]
    is_early = chance.random() < 0.4
    process = subprocess.Popen(
        [realmfs, "mount", "-f", *options, file, point], stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in signals])
    acknowledged, attempted, stop, threads, seen = {}, {}, threading.Event(), [], False
    if is_early:
        time.sleep(chance.uniform(0, 0.08))
    else:
        end = time.monotonic() + 20
        while not (seen := mounts() == 1) and time.monotonic() < end and process.poll() is None: time.sleep(0.0005)
        threads = [threading.Thread(target=writer, args=(name, acknowledged, attempted, stop)) for name in (701, 702)]
        for thread in threads: thread.start()
        time.sleep(chance.uniform(0, 0.1))
    seen = seen or mounts() == 1
    count = chance.randint(5, 20) if chance.random() < 0.5 else 10 ** 6
    for _ in range(count):
        if process.poll() is not None: break
        process.send_signal(chance.choice(signals))
        time.sleep(chance.choice([0, 0, 0.0002, 0.001]))
    problem = ""
    if not has_ended(process, 20):
        problem = "does not end"
        process.kill()
    status = process.wait()
    stop.set()
    if mounts():
        problem += f" left a mount, status {status}"
        subprocess.run(["umount", "-l", point])
    for thread in threads: thread.join()
    # Before the mount exists, a signal ends the process like any other.
    if status != 0 and (seen or -status not in signals): problem += f" status {status}"
    for name, value in acknowledged.items():
        text = subprocess.run([realmfs, "cat", file, f"Person/{name}.json"], capture_output=True).stdout
        stored = int(json.loads(text)["name"]) if text else 0
        if not value <= stored <= attempted[name]: problem += f" {name}: saved {value}, stored {stored}"
    if problem:
        faults += 1
        print(f"round {number} {options} early={is_early} count={count}:{problem}: {process.stderr.read().decode()[:300]}")
print(f"{faults} of {rounds} rounds failed, seed {seed}")

#pragma once

#include <functional>
#include <optional>

namespace winnow {

// The trainer's side of forking (docs/trainer-contract.md, "Forking"). Called at the start of main, before
// any thread. In a process that WINNOW_PARENT_FD makes a parent, calls `prepare` and then serves: returns the
// exit code when the worker needs it no more, and, in each child that it forks, nothing, with the environment
// and the streams of that child. In any other process tells the worker that it can serve, and returns
// nothing. A child whose main returns ends without its exit handlers and the destructors of static objects;
// what the C streams hold is written. With kNone, refuses commands with arguments, which the children would
// not have. REQUIRES: no thread is left of what `prepare` did.
enum class Arguments { kNone, kIgnored };
std::optional<int> ServeForks(const std::function<void()>& prepare, Arguments arguments = Arguments::kNone);

// Called before the first level, when all else is done. Where the worker has started this process before
// there was a slot for it, waits until it may train, and takes the variables that are different by then.
// False: it is to end, because of a signal or because the worker is gone. True at once in any other process.
bool AwaitTurn();

// The variables of this process, null if one is not set. In a parent, SM_HPS is that of some trial of the
// job, by which `prepare` may choose what to prepare; never that of a child.
const char* OwnEnvironmentValue(const char* name);
const char* EnvironmentOfParent(const char* name);

}  // namespace winnow

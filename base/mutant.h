#pragma once

// WINNOW_MUTANT(name) breaks a promise on purpose: it is true in simulation_mutants (tests/simulation) while
// the mutant of that name runs, and false, at compile time, in every other program.
#ifdef WINNOW_MUTANTS

namespace winnow {

// REQUIRES a name that tests/simulation/mutants_main.cc lists.
bool IsActiveMutant(const char* name);

}  // namespace winnow

#define WINNOW_MUTANT(name) ::winnow::IsActiveMutant(name)
#else
#define WINNOW_MUTANT(name) false
#endif

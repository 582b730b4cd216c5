#pragma once

#include <vector>

namespace winnow {

// The active one of the deliberately broken lines; 0: none. Only in the copies of sources that mutate.py
// makes.
extern int active_mutation;
inline bool Mutated(int number) { return active_mutation == number; }

struct Mutation {
  int number;
  const char* name;
  bool there;  // false: the source no longer has the line to break
};
const std::vector<Mutation>& Mutations();

}  // namespace winnow

#pragma once

#include <vector>

namespace winnow {

// Which of the deliberately broken lines counts; 0: none. Only in the copies of sources that mutate.py makes.
extern int active_mutation;
inline bool Mutated(int number) { return active_mutation == number; }

struct Mutation {
  int number;
  const char* name;
  bool there;  // false: the source does not have the line any more that it breaks
};
const std::vector<Mutation>& Mutations();

}  // namespace winnow

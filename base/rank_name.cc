#include "base/rank_name.h"

namespace winnow {

std::string RankName(std::string_view job, std::string_view trial, std::string_view attempt, int rank) {
  std::string name = "winnow:job/";
  name.append(job).append("/trial/").append(trial).append("/attempt/").append(attempt);
  return name + "/rank/" + std::to_string(rank);
}

}  // namespace winnow

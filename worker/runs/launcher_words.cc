#include "worker/runs/launcher_words.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

namespace winnow {
namespace {

bool IsRuler(std::string_view line) {
  constexpr size_t kLeast = 60;
  return line.size() >= kLeast && line.find_first_not_of('-') == std::string_view::npos;
}

}  // namespace

std::string_view WithoutMpiRank(std::string_view line) {
  const size_t colon = line.find(':'), end = line.find("] ");
  const bool is_one =
      line.starts_with('[') && end != std::string_view::npos && colon < end &&
      line.substr(colon + 1, end - colon - 1).find_first_not_of("0123456789") == std::string_view::npos;
  return is_one ? line.substr(end + 2) : line;
}

bool IsMpiTrace(std::string_view line) {
  const bool on_connection = line.starts_with('[') && line.find("][[") != std::string_view::npos;
  if (on_connection || line.find("processes failed to start") != std::string_view::npos) return true;
  const std::string_view said = WithoutMpiRank(line);
  if (said.size() == line.size()) return false;
  for (const char* sign : {"*** Process received signal", "*** End of error message",
                           "Signal: ", "Signal code: ", "Failing at address", "[ ",
                           "*** MPI_ERRORS_ARE_FATAL", "***    and potentially your MPI job"}) {
    if (said.starts_with(sign)) return true;
  }
  return false;
}

std::string TakeMpirunMessages(std::vector<std::string_view>& lines) {
  std::vector<std::string_view> others;
  std::string last;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool is_message = false;
    for (const char* first :
         {"mpirun ", "Primary job ", "MPI_ABORT was invoked", "There are not enough slots", "ORTE ",
          "An ORTE daemon ", "WARNING: Open MPI "}) {
      is_message =
          is_message || (IsRuler(lines[i]) && i + 1 < lines.size() && lines[i + 1].starts_with(first));
    }
    if (!is_message) {
      others.push_back(lines[i]);
      continue;
    }
    std::string message;
    for (++i; i < lines.size() && !IsRuler(lines[i]); ++i) {
      std::istringstream words{std::string(lines[i])};
      for (std::string word; words >> word;) message.append(message.empty() ? "" : " ").append(word);
    }
    if (last.empty() || !message.starts_with("WARNING")) last = std::move(message);
  }
  lines = std::move(others);
  return last;
}

bool IsOfTorchrun(std::string_view line) {
  for (const char* sign : {"torch.distributed.elastic", "torch.distributed.run", "torch/distributed/",
                           "Setting OMP_NUM_THREADS"}) {
    if (line.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

std::string_view TakeWordOfTorchrun(std::vector<std::string_view>& lines) {
  constexpr std::string_view kFailed = "failed (exitcode: ";
  const auto found = std::find_if(lines.begin(), lines.end(), [&](std::string_view line) {
    return line.find(kFailed) != std::string_view::npos;
  });
  if (found == lines.end()) return "";
  const std::string_view word = found->substr(found->find(kFailed));
  lines.erase(found, lines.end());
  return word;
}

}  // namespace winnow

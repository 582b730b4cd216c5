#pragma once

#include <signal.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace winnow {

// A program of this folder that runs as a rank. Its standard output is read by line; the destructor kills it.
class RankProcess {
 public:
  RankProcess(const std::string& program, int rank, int size, int port,
              const std::vector<std::string>& arguments);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void Signal(int number) const { ::kill(pid_, number); }
  std::string ReadLine() const;

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

using RankProcesses = std::vector<std::unique_ptr<RankProcess>>;

// Starts ranks, and checks that they report to be ready.
RankProcesses StartRanks(const std::string& program, int size, const std::vector<std::string>& arguments);

}  // namespace winnow

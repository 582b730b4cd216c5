#include "tests/trainers/collective/rank_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "fmt/format.h"
#include "tests/catch.h"
#include "trainers/collective/socket.h"

namespace winnow {

RankProcess::RankProcess(const std::string& program, int rank, int size, int port,
                         const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {WINNOW_TEST_BIN_DIR "/" + program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", size),
                                        "MASTER_ADDR=localhost", fmt::format("MASTER_PORT={}", port),
                                        "WINNOW_ATTEMPT=1"};
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(ends[1]);
  out_ = ends[0];
}

RankProcess::~RankProcess() {
  close(out_);
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string RankProcess::ReadLine() const {
  std::string line;
  for (char c = 0; read(out_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

RankProcesses StartRanks(const std::string& program, int size, const std::vector<std::string>& arguments) {
  Socket listener = *ListenAt({*ResolveHost("127.0.0.1"), 0});
  const int port = OwnEndpoint(listener).port;
  listener.Close();
  RankProcesses ranks;
  for (int r = 0; r < size; ++r)
    ranks.push_back(std::make_unique<RankProcess>(program, r, size, port, arguments));
  for (const auto& rank : ranks) CHECK(rank->ReadLine() == "ready");
  return ranks;
}

}  // namespace winnow

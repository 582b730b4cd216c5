#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "checkout.h"

namespace winnow {

// The end of a trainer's run, and its output.
struct Ended {
  int code = 0;
  std::string out, err;
};

// A running trainer, winnow-gbdt or winnow-mlp, with only these arguments and this environment. Its standard
// output is a pipe of the smallest size, so that it blocks unless it is read; its standard error goes to a
// file.
class TrainerProgram {
 public:
  TrainerProgram(const std::string& trainer, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, const std::string& error_file) {
    std::vector<std::string> words = {WINNOW_BIN_DIR "/" + trainer}, variables = environment;
    words.insert(words.end(), arguments.begin(), arguments.end());
    // Caches are not shared between tests.
    const bool has_cache = std::any_of(variables.begin(), variables.end(), [](const std::string& variable) {
      return variable.starts_with("WINNOW_CACHE_DIR=");
    });
    if (!has_cache) variables.push_back("WINNOW_CACHE_DIR=off");
    // Reports of sanitizers must still fail the run.
    for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
      if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
    }
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    const int errors = open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(errors, STDERR_FILENO);
      execve(argv[0], argv.data(), envp.data());
      _exit(127);
    }
    close(ends[1]);
    close(errors);
    out_ = ends[0];
  }
  ~TrainerProgram() {
    close(out_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  TrainerProgram(const TrainerProgram&) = delete;
  TrainerProgram& operator=(const TrainerProgram&) = delete;

  void Signal(int number) const { ::kill(pid_, number); }

  // Returns the next line of standard output without its end; empty at the end of the output.
  std::string ReadLine() {
    std::string line;
    for (char c = 0; read(out_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  std::string ReadAllOutput() {
    std::string text;
    char piece[4096];
    for (ssize_t size = 0; (size = read(out_, piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(size));
    return text;
  }
  // Returns the exit code, or 128 + the signal that ended it.
  int Wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

}  // namespace winnow

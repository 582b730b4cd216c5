#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace winnow {

// A run of the winnow program.
class Process {
 public:
  enum class Io {
    kPipes,
    kTerminal,       // of 100 columns and 30 lines, where err() is part of out()
    kNarrowTerminal  // of 60 columns
  };

  // TZ is UTC, and WINNOW_SERVER is `server` ("": unset); `environment` is added ("NAME=value").
  Process(const std::vector<std::string>& arguments, const std::string& server, Io io = Io::kPipes,
          const std::vector<std::string>& environment = {}, const std::string& input = "",
          const std::string& folder = "");
  ~Process();  // kills it if it still runs

  // Reads until standard output holds `text` after what the last such call found; false if it ended first.
  bool ReadUntil(const std::string& text);
  // Reads to the end; returns its exit code, or -signal.
  int Wait();
  void Signal(int signal);

  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

 private:
  bool ReadSome();  // false: both ends are closed

  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_;
  std::string err_;
  size_t found_ = 0;
};

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};
Result RunWinnow(const std::vector<std::string>& arguments, const std::string& server,
                 const std::string& input = "");

}  // namespace winnow

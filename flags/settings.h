#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace winnow {

// Where else than on the command line the flags of a program come from. Highest first: the command line, the
// environment, the file of --config, the defaults.
class Settings {
 public:
  // Variables by flag, "--server" for example. Only the value of the first one is ever shown.
  using Variables = std::map<std::string, std::vector<std::string>>;

  // Adds --config and --show-config to `app`, which must outlive this. The variable of a flag is `prefix` and
  // the flag's name in capitals: WINNOW_WORKER_WORK_DIR. The program itself reads the variables of
  // `read_elsewhere` if their flag is not given; they too come before the file. REQUIRES: every other flag
  // has been added.
  Settings(CLI::App& app, std::string prefix, Variables read_elsewhere = {});

  // Sets the flags that the command line lacks. Returns the problem, which names the variable or the file's
  // line; "" if there is none. REQUIRES: the app has parsed the command line.
  std::string Fill();

  // Returns what --show-config prints: every setting with its value and where it is from; "" if it is not
  // given.
  std::string Shown() const;

 private:
  struct Setting {
    CLI::Option* option = nullptr;
    std::string key;                     // as in files: "work-dir"
    std::vector<std::string> variables;  // of the environment
    bool read_elsewhere = false;
    std::string from = "default";
    std::vector<std::string> values;  // as given
  };

  // Sets the option. Returns the problem; "" if there is none.
  std::string Take(Setting& setting, const std::vector<std::string>& values, const std::string& from);
  std::string TakeEnvironment(Setting& setting);
  std::string TakeFile(const std::string& path);

  // Returns the values as TOML and JSON write them.
  static std::string Literal(const Setting& setting);

  std::string Table() const;
  std::string Json() const;
  // A file that says the same, with the help of every flag as a comment.
  std::string Toml() const;

  CLI::App& app_;
  const std::string prefix_;
  std::string file_;
  std::string format_;
  CLI::Option* config_ = nullptr;
  std::vector<Setting> settings_;
};

}  // namespace winnow

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artifact/folder.h"
#include "worker/host/event_loop.h"
#include "worker/host/line_splitter.h"
#include "worker/metrics/event_reader.h"
#include "worker/metrics/metric_record.h"

namespace winnow {

// Follows `trainer.metrics_file` while a program writes it: JSON lines (*.jsonl, *.json), CSV with a header
// (*.csv), or a folder with TensorBoard event files, at any depth up to 4. A file *.json may also be one JSON
// object or a list of objects, over any number of lines, which is given at the end. Each line and record is
// given once; what was there at the start is an earlier attempt's and is left out, unless the program writes
// the file anew. Of a text file that is written anew, the lines that begin it as before are not given again:
// a program may write its whole history each time. A file of one line has the newest values alone, and its
// line is given each time that it is written anew. Of a text file that is renamed or removed the rest is
// given too, as of a log that is rotated. Of a folder and those in it, 10,000 entries are looked at. Memory
// and the time of a call are bounded whatever the files hold. Lives on the loop's thread.
class MetricsFollower {
 public:
  // `folder`: SM_OUTPUT_DATA_DIR. Links are not followed.
  MetricsFollower(EventLoop* loop, FolderName folder, std::string file,
                  std::function<void(const MetricRecord&)> take);
  ~MetricsFollower();

  // The program has ended: gives what is left; of much, its beginning and its end.
  void End();
  // Why nothing was read, for a sentence: "metrics.jsonl was not written in SM_OUTPUT_DATA_DIR"; "":
  // something was.
  std::string problem() const;
  int64_t records() const { return records_; }
  // Whether the files were written faster than they are read, so that some of them was left out at the end.
  bool has_left_out() const { return has_left_out_; }
  // The names of the first record's numbers, at most ten: "epoch, train, val loss"; "": it had none.
  const std::string& first_names() const { return first_names_; }
  // The line of a CSV file that is its header. "": none.
  const std::string& header() const { return header_; }

 private:
  struct File {
    File();
    ino_t inode = 0;
    int64_t offset = 0;  // read up to here
    std::string before;  // the last bytes before `offset`, by which a file that was written anew is noticed
    std::optional<OpenFile> open;  // of text, once something was read
    bool is_cut = false;           // what comes next is the end of a line whose beginning was left out
    LineSplitter lines;
    EventReader events;
    std::vector<std::string> header;  // of CSV; empty: not read yet
    bool wrote = false;               // the program, not an earlier attempt
    std::vector<size_t> read;         // hashes of the lines of text after the header; the first ones
    // `read` of the file as it was before it was written anew, as long as the lines are the same.
    std::vector<size_t> repeated;
  };
  enum class Kind { kJson, kCsv, kEvents };

  std::vector<std::string> Names();
  void List(const OpenFolder& folder, const std::string& inner, int depth, std::vector<std::string>& names);
  void SkipExisting();
  // Whether there may be more.
  bool ReadSome(const std::string& name, bool last);
  bool ReadMoved(File& file);
  int64_t TakeAdded(File& file, const std::string& bytes);
  void ReadToEnd(const std::string& name);
  bool SkipMiddle(const std::string& name);
  void StartAnew(const std::string& name, ino_t inode);
  void Take(File& file, std::string_view bytes);
  void Line(File& file, std::string_view line);
  void GiveWhole();
  void Give(const MetricRecord& record);
  void Poll();

  EventLoop* const loop_;
  const FolderName folder_;
  const std::string file_;
  const Kind kind_;
  const std::function<void(const MetricRecord&)> take_;
  std::map<std::string, File> files_;
  int64_t records_ = 0;
  std::string first_names_;
  std::string header_;
  bool has_left_out_ = false;
  std::string error_;  // of a file that cannot be read
  EventLoop::Id timer_ = 0;
  size_t listed_ = 0;      // entries, in the last look for event files
  bool too_many_ = false;  // there were more than are looked at
};

}  // namespace winnow

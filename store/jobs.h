#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

struct JobRow {
  int64_t key = 0;  // internal; users see `id`
  std::string id;
  std::string request_id;  // "": none
  std::string spec;        // proto3 JSON of TuningJobSpec
  std::string state;       // running, stopping, completed, stopped, failed
  std::string reason;
  int64_t create_us = 0;
  int64_t end_us = 0;  // 0: it has not ended
  int64_t last_sequence = 0;
  std::string warm_start;    // the earlier results it started with; "": none
  std::string owner;         // name of the token that created it; "": none
  std::string source = {};   // proto3 JSON of winnow.v1.Source without its manifest; "": none
  std::string project = {};  // "": the default project
  // Ended parts of its trials, by how their programs started.
  int64_t new_process_parts = 0;
  int64_t forked_parts = 0;
  int64_t continued_parts = 0;
};

// Which jobs a list has.
struct JobFilter {
  std::vector<std::string> tags;    // those that have all of these; empty: all
  std::vector<std::string> states;  // those in one of these states; empty: all
  // Those whose id, owner, metrics, parameters, tags or note have this text; ASCII letters in any case. "":
  // all.
  std::string search;
  // Jobs of these projects ("": the default one); absent: of all.
  std::optional<std::vector<std::string>> projects = std::nullopt;
};

// Between a job's name and its project in its id; in no name of a job.
inline constexpr char kProjectMark = '@';

class JobTable {
 public:
  explicit JobTable(Database& database);

  // Makes the id from `name`: itself, or name-2, name-3…, with @PROJECT at its end if it has a project. So
  // ids of different projects never meet. An id is never used twice in a file. It is the first that is not
  // taken; where others behind that are, as by a job with the name name-9, one that follows a taken one.
  // Returns the row with key and id. ALREADY_EXISTS: the request id is known.
  absl::StatusOr<JobRow> Insert(const std::string& name, JobRow row);
  absl::StatusOr<std::optional<JobRow>> Find(const std::string& id);
  absl::StatusOr<std::optional<JobRow>> FindRequest(const std::string& request_id);
  // Returns those that have not ended, oldest first.
  absl::StatusOr<std::vector<JobRow>> Open();
  // At most `limit` of those that ended before that time.
  absl::StatusOr<std::vector<JobRow>> EndedBefore(int64_t time_us, int64_t limit);
  // At most `limit` of those that have ended and are not among the `number` of their project that ended last.
  absl::StatusOr<std::vector<JobRow>> BeyondNewest(int64_t number, int64_t limit);
  // At most `limit` of those that have ended and have artifacts; those that ended first come first.
  absl::StatusOr<std::vector<JobRow>> EndedWithArtifacts(int64_t limit);
  // Whether there was a job of this id, and it was deleted.
  absl::StatusOr<bool> WasDeleted(const std::string& id);
  // Newest first, below the key `before`. The specs of jobs that are left out are not read.
  absl::StatusOr<std::vector<JobRow>> List(int64_t before, int64_t limit, const JobFilter& filter = {});
  // 0: no such job.
  absl::StatusOr<int64_t> LastSequence(int64_t key);
  // Writes state, reason, end_us, last_sequence and the numbers of parts.
  absl::Status Update(const JobRow& row);
  // Deletes it at once with every row that belongs to it. See also Removal.
  absl::Status Delete(int64_t key);

 private:
  absl::StatusOr<std::string> FreeId(const std::string& name, const std::string& project);
  absl::StatusOr<std::optional<JobRow>> One(Statement& statement);
  absl::StatusOr<std::vector<JobRow>> All(Statement& statement);
  Database& database_;
  Statement taken_, take_, insert_, find_, find_request_, open_, ended_, beyond_, storing_, was_deleted_,
      list_, last_sequence_, update_, update_state_, delete_;
};

}  // namespace winnow

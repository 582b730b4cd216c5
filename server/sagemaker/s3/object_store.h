#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/http/message.h"
#include "store/database/database.h"

namespace winnow {

// A file of the store that has a part of an object's bytes.
struct ObjectPiece {
  std::string file;
  int64_t size = 0;
};

// An object without its bytes.
struct ObjectHead {
  std::string key;
  int64_t size = 0;
  std::string etag;  // without quotes
  int64_t modified_us = 0;
  std::map<std::string, std::string> headers;  // that are given back: content-type, x-amz-meta-…
  std::string checksum;                        // "x-amz-checksum-crc32: …" of the whole object; "": none
  std::vector<ObjectPiece> pieces;
  std::shared_ptr<const void> hold = nullptr;  // the pieces' files are not removed while it is there
};

// A part of an upload.
struct UploadedPart {
  int64_t number = 0;
  std::string etag;
  ObjectPiece piece;
  int64_t modified_us = 0;
};

// What must hold of the object that a write replaces, looked at in the same moment. Else it is
// PreconditionFailed, or NoSuchKey where there is none to match.
struct WriteCondition {
  bool absent = false;  // there is none
  std::string etag;     // it has this one, without quotes; "*": any; "": no condition
};

// The page of a listing.
struct ObjectPage {
  struct Entry {
    ObjectHead object;
    std::string prefix;  // a common prefix instead of an object, unless ""
  };
  std::vector<Entry> entries;
  std::string next;  // what to list after; "": this is the last page
};

// Buckets and objects of accounts, in one folder: an index in SQLite, and the bytes in files whose names have
// nothing of the objects'. A file is durable before the index names it, so that an object is whole or absent.
// Errors are AwsError with the codes of S3. Thread-safe.
class ObjectStore {
 public:
  // Removes files that no object has: they were being written when the server ended.
  static absl::StatusOr<std::unique_ptr<ObjectStore>> Open(const std::filesystem::path& folder);

  absl::Status CreateBucket(const std::string& account, const std::string& bucket);
  absl::Status DeleteBucket(const std::string& account, const std::string& bucket);
  absl::Status FindBucket(const std::string& account, const std::string& bucket);
  struct Bucket {
    std::string name;
    int64_t created_us = 0;
  };
  absl::StatusOr<std::vector<Bucket>> ListBuckets(const std::string& account);

  // Writes a durable file; it is removed with the result unless an object or a part takes it.
  class Draft {
   public:
    Draft(Draft&& other) noexcept = default;
    ~Draft();
    const ObjectPiece& piece() const { return piece_; }

   private:
    friend class ObjectStore;
    Draft(ObjectStore* store, ObjectPiece piece) : store_(store), piece_(std::move(piece)) {}
    struct Forget {
      void operator()(ObjectStore*) const {}
    };
    std::unique_ptr<ObjectStore, Forget> store_;
    ObjectPiece piece_;
  };
  absl::StatusOr<Draft> Write(std::string_view bytes);
  // A file of `path`'s content, which is moved.
  absl::StatusOr<Draft> Take(const std::filesystem::path& path);
  // Where files of unfinished work may be put: it is emptied when the store is opened.
  std::filesystem::path DraftPath() const;

  // Puts an object with one file in place of the one that is there.
  absl::Status Put(const std::string& account, const std::string& bucket, ObjectHead head, Draft draft,
                   const WriteCondition& condition = {});
  // NoSuchBucket, NoSuchKey. The object can be read as long as the head is there, also where another one has
  // taken its place.
  absl::StatusOr<ObjectHead> Get(const std::string& account, const std::string& bucket,
                                 const std::string& key);
  // The bytes [from, from + size) of an object that Get has given.
  std::shared_ptr<BodySource> Read(const ObjectHead& head, int64_t from, int64_t size) const;
  // Deleting what is not there is no error.
  absl::Status Delete(const std::string& account, const std::string& bucket, const std::string& key);
  // Copies without reading the bytes. `headers`: those of the copy; absent: the source's.
  absl::StatusOr<ObjectHead> Copy(const std::string& account, const std::string& from_bucket,
                                  const std::string& from_key, const std::string& to_bucket,
                                  const std::string& to_key,
                                  std::optional<std::map<std::string, std::string>> headers,
                                  const WriteCondition& condition = {});
  // Objects whose keys begin with `prefix` and come after `after`, in the order of their bytes; what has
  // `delimiter` behind the prefix is one entry for all.
  absl::StatusOr<ObjectPage> List(const std::string& account, const std::string& bucket,
                                  const std::string& prefix, const std::string& delimiter,
                                  const std::string& after, int64_t most);

  absl::StatusOr<std::string> CreateUpload(const std::string& account, const std::string& bucket,
                                           const ObjectHead& head);
  absl::Status PutPart(const std::string& account, const std::string& upload, UploadedPart part, Draft draft);
  absl::StatusOr<std::vector<UploadedPart>> ListParts(const std::string& account, const std::string& bucket,
                                                      const std::string& key, const std::string& upload);
  // `wanted`: the parts' numbers and ETags, ascending. The object has the parts' files.
  absl::StatusOr<ObjectHead> CompleteUpload(const std::string& account, const std::string& bucket,
                                            const std::string& key, const std::string& upload,
                                            const std::vector<std::pair<int64_t, std::string>>& wanted,
                                            const WriteCondition& condition = {});
  absl::Status AbortUpload(const std::string& account, const std::string& bucket, const std::string& key,
                           const std::string& upload);
  // Removes uploads that nobody has completed within seven days, and their parts.
  absl::Status RemoveForgottenUploads();

 private:
  class Files;
  ObjectStore(std::filesystem::path folder, std::unique_ptr<Database> index);
  std::filesystem::path PathOf(const std::string& file) const;
  absl::Status RemoveStrays();
  // What is being read is removed at the end of that. REQUIRES: the index has none of them any more.
  void RemoveFiles(const std::vector<ObjectPiece>& pieces) const;
  absl::Status FindLocked(const std::string& account, const std::string& bucket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<ObjectHead> GetLocked(const std::string& account, const std::string& bucket,
                                       const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the pieces of the object that was there.
  absl::StatusOr<std::vector<ObjectPiece>> PutLocked(const std::string& account, const std::string& bucket,
                                                     const ObjectHead& head, const WriteCondition& condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::vector<UploadedPart>> PartsLocked(const std::string& account, const std::string& bucket,
                                                        const std::string& key, const std::string& upload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the rows of an upload and of its parts; the caller's transaction commits it.
  absl::Status ForgetUploadLocked(const std::string& account, const std::string& upload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path folder_;
  const std::shared_ptr<Files> files_;
  Mutex mutex_;
  std::unique_ptr<Database> index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

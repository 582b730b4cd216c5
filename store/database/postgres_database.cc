#include "store/database/postgres_database.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "base/check.h"
#include "base/environment.h"
#include "base/utf8.h"
#include "store/database/faults/commit_hook.h"
#include "store/database/postgres_dialect.h"

namespace winnow {
namespace {

// PostgreSQL's numbers of the types that our tables and statements have (pg_type.dat).
constexpr Oid kPgBool = 16;
constexpr Oid kPgBytea = 17;
constexpr Oid kPgInt8 = 20;
constexpr Oid kPgInt2 = 21;
constexpr Oid kPgInt4 = 23;
constexpr Oid kPgText = 25;
constexpr Oid kPgFloat4 = 700;
constexpr Oid kPgFloat8 = 701;
constexpr Oid kPgVarchar = 1043;
constexpr Oid kPgName = 19;

constexpr int kBinary = 1;
// Statements whose answers may be outstanding.
constexpr int kMostUnanswered = 256;
// Rows that are sent as one INSERT.
constexpr int kMostRows = 8'192;
constexpr int kOldestServer = 140'000;
bool IsRead(Oid type) {
  constexpr std::array kRead = {kPgBool, kPgBytea,  kPgInt8,   kPgInt2,    kPgInt4,
                                kPgText, kPgFloat4, kPgFloat8, kPgVarchar, kPgName};
  return std::find(kRead.begin(), kRead.end(), type) != kRead.end();
}

std::string NameOf(Oid type) {
  switch (type) {
    case kPgBool:
      return "boolean";
    case kPgBytea:
      return "bytea";
    case kPgInt8:
      return "bigint";
    case kPgInt4:
      return "integer";
    case kPgFloat8:
      return "double precision";
    default:
      return "text";
  }
}

template <typename Bits>
std::string BigEndian(Bits value) {
  std::string bytes(sizeof value, '\0');
  for (size_t i = 0; i < sizeof value; ++i) {
    bytes[sizeof value - 1 - i] = static_cast<char>(value >> (8 * i) & 0xff);
  }
  return bytes;
}

template <typename Bits>
Bits FromBigEndian(const char* bytes) {
  Bits value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

std::string PostgresText(const std::string& text) {
  constexpr std::string_view kUnknown = "\xEF\xBF\xBD";
  std::string kept;
  bool changed = false;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(std::string_view(text).substr(at));
    if (length == 0 || text[at] == '\0') {
      if (!changed) kept = text.substr(0, at);
      changed = true;
      kept += kUnknown;
      ++at;
      continue;
    }
    if (changed) kept.append(text, at, length);
    at += length;
  }
  return changed ? kept : text;
}

namespace {

// The value in PostgreSQL's binary form of `type`. REQUIRES: not null.
std::string Encoded(const ColumnValue& value, Oid type) {
  double real = 0;
  int64_t whole = 0;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    whole = *number;
    real = static_cast<double>(whole);
  } else if (const auto* floating = std::get_if<double>(&value)) {
    real = *floating;
    whole = std::isfinite(real) ? std::llround(real) : 0;
  }
  switch (type) {
    case kPgBool:
      return std::string(1, whole != 0 ? '\1' : '\0');
    case kPgInt8:
      return BigEndian(static_cast<uint64_t>(whole));
    case kPgInt4:
      return BigEndian(static_cast<uint32_t>(whole));
    case kPgFloat8:
      return BigEndian(std::bit_cast<uint64_t>(real));
    default:
      break;
  }
  if (const auto* blob = std::get_if<Blob>(&value)) return blob->bytes;
  if (const auto* text = std::get_if<std::string>(&value))
    return type == kPgBytea ? *text : PostgresText(*text);
  return std::holds_alternative<double>(value) ? fmt::format("{}", real) : std::to_string(whole);
}

std::string Trimmed(const char* message) {
  std::string text(message == nullptr ? "" : message);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// PGPASSWORD, which is removed from the environment: trainers of local workers would inherit it.
const std::string& PasswordOfEnvironment() {
  static const std::string kPassword = TakeEnvironmentVariable("PGPASSWORD");
  return kPassword;
}

}  // namespace

bool PostgresDatabase::Alive() const { return !lost_ && PQstatus(connection_) == CONNECTION_OK; }

void PostgresDatabase::FreeResult::operator()(pg_result* result) const { PQclear(result); }

absl::StatusOr<std::unique_ptr<PostgresDatabase>> PostgresDatabase::Open(const std::string& address,
                                                                         OpenMode mode) {
  absl::Status status = CheckPostgresAddress(address);
  if (!status.ok()) return status;
  std::unique_ptr<PostgresDatabase> database(new PostgresDatabase(address, mode));
  status = database->Connect();
  if (!status.ok()) return status;
  return database;
}

PostgresDatabase::~PostgresDatabase() { PQfinish(connection_); }

absl::Status PostgresDatabase::Connect() {
  PQfinish(connection_);
  lost_ = false;
  plans_.clear();
  rows_ = {};
  unanswered_ = 0;
  ++rollbacks_;  // a commit whose answer was lost
  // The address overrides what comes before it.
  const std::string name = application_.empty() ? "winnow-server" : application_;
  const std::array<std::pair<const char*, const char*>, 9> options = {
      {{"connect_timeout", "10"},
       {"keepalives_idle", "5"},
       {"keepalives_interval", "2"},
       {"keepalives_count", "3"},
       {"tcp_user_timeout", "10000"},
       {"password", PasswordOfEnvironment().c_str()},
       {"dbname", file_.c_str()},
       {"client_encoding", "UTF8"},
       {"application_name", name.c_str()}}};
  std::array<const char*, options.size() + 1> names{}, values{};
  for (size_t i = 0; i < options.size(); ++i) std::tie(names[i], values[i]) = options[i];
  connection_ = PQconnectdbParams(names.data(), values.data(), 1);
  if (connection_ == nullptr) return absl::ResourceExhaustedError(file_ + ": out of memory");
  if (PQstatus(connection_) != CONNECTION_OK) {
    return PostgresRefusal(file_, Trimmed(PQerrorMessage(connection_)),
                           PQconnectionNeedsPassword(connection_) != 0);
  }
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  if (PQserverVersion(connection_) < kOldestServer) {
    return absl::FailedPreconditionError(fmt::format("{}: the server is PostgreSQL {}; expected 14 or newer",
                                                     file_, PQserverVersion(connection_) / 10'000));
  }
  const char* encoding = PQparameterStatus(connection_, "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    return absl::FailedPreconditionError(
        fmt::format("{}: the database's encoding is {}; expected UTF8: createdb --encoding=UTF8 "
                    "--template=template0 NAME",
                    file_, encoding == nullptr ? "not known" : encoding));
  }
  // What is acknowledged is on disk, whatever the server's default.
  std::string settings =
      "SET jit = off; SET lock_timeout = '5s';"
      " SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = "
      "'off'";
  if (mode_ == OpenMode::kReadOnly || mode_ == OpenMode::kStill)
    settings += "; SET default_transaction_read_only = on";
  absl::Status status = Execute(settings);
  if (!status.ok() || epoch_ == 0) return status;
  // Waits for what the lost connection may still be committing.
  return Execute(fmt::format("SELECT winnow_lead({})", epoch_));
}

absl::Status PostgresDatabase::Fence(int64_t epoch) {
  epoch_ = epoch;
  return Execute(fmt::format("SELECT winnow_lead({})", epoch_));
}

absl::Status PostgresDatabase::SetName(const std::string& name) {
  application_ = name;
  return Execute(fmt::format("SET application_name = '{}'", name));
}

absl::Status PostgresDatabase::Ready() {
  if (open_) return absl::OkStatus();
  // What the server sent while nothing was asked, such as why it ends the session; then the end itself.
  for (int i = 0; i < 2 && Alive(); ++i) PQconsumeInput(connection_);
  return Alive() ? absl::OkStatus() : Connect();
}

absl::Status PostgresDatabase::Failed(absl::Status status) {
  if (!open_) return status;
  if (failed_.ok()) failed_ = std::move(status);
  return failed_;
}

absl::Status PostgresDatabase::Lost(std::string_view doing) {
  return Failed(PostgresStatus("", file_, Trimmed(PQerrorMessage(connection_)), doing));
}

absl::Status PostgresDatabase::Execute(const std::string& sql) {
  absl::Status status = Alive() ? absl::OkStatus() : Ready();
  if (status.ok() && (rows_.count > 0 || unanswered_ > 0)) status = Drain(sql).status();
  if (!status.ok()) return status;
  if (!failed_.ok()) return failed_;
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF) PQexitPipelineMode(connection_);
  const Result result(PQexec(connection_, sql.c_str()));
  const ExecStatusType got = PQresultStatus(result.get());
  if (got == PGRES_COMMAND_OK || got == PGRES_TUPLES_OK || got == PGRES_EMPTY_QUERY) {
    changes_ = strtoll(PQcmdTuples(result.get()), nullptr, 10);
    return absl::OkStatus();
  }
  const char* sqlstate = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  return Failed(PostgresStatus(sqlstate == nullptr ? "" : sqlstate, file_,
                               Trimmed(PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY) == nullptr
                                           ? PQerrorMessage(connection_)
                                           : PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY)),
                               sql));
}

absl::StatusOr<PostgresDatabase::Result> PostgresDatabase::Drain(std::string_view doing) {
  absl::Status status = SendRows();
  if (!status.ok() && !Alive()) return status;
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) return Result();
  if (PQpipelineSync(connection_) != 1) return Lost(doing);
  Result last;
  unanswered_ = 0;
  int ends = 0;
  while (true) {
    Result result(PQgetResult(connection_));
    if (result == nullptr) {
      if (Alive() && ++ends == 1) continue;  // the end of one statement's results
      // Nothing more will come: the server ended the session before it read what was sent.
      lost_ = true;
      return status.ok() ? Lost(doing) : Failed(std::move(status));
    }
    ends = 0;
    switch (PQresultStatus(result.get())) {
      case PGRES_PIPELINE_SYNC:
        if (!status.ok()) return Failed(std::move(status));
        if (open_ && !failed_.ok()) return failed_;
        return last;
      case PGRES_PIPELINE_ABORTED:
        break;
      case PGRES_FATAL_ERROR: {
        const char* sqlstate = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        const char* message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
        if (status.ok()) {
          status = PostgresStatus(sqlstate == nullptr ? "" : sqlstate, file_,
                                  Trimmed(message == nullptr ? PQerrorMessage(connection_) : message), doing);
        }
        if (!Alive()) return Failed(std::move(status));
        break;
      }
      default:
        last = std::move(result);
    }
  }
}

absl::StatusOr<const PostgresDatabase::Plan*> PostgresDatabase::FindPlan(const std::string& sql) {
  const auto found = plans_.find(sql);
  if (found != plans_.end()) return found->second.get();
  if (!failed_.ok()) return failed_;
  absl::Status status = SendRows();
  if (!status.ok()) return status;
  auto plan = std::make_unique<Plan>();
  plan->sql = PostgresStatement(sql);
  plan->name = fmt::format("s{}", ++prepared_);
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) PQenterPipelineMode(connection_);
  if (PQsendPrepare(connection_, plan->name.c_str(), plan->sql.c_str(), 0, nullptr) != 1 ||
      PQsendDescribePrepared(connection_, plan->name.c_str()) != 1) {
    return Lost(plan->sql);
  }
  absl::StatusOr<Result> described = Drain(plan->sql);
  if (!described.ok()) return described.status();
  for (int i = 0; i < PQnparams(described->get()); ++i)
    plan->types.push_back(PQparamtype(described->get(), i));
  std::vector<std::string> names;
  for (const Oid type : plan->types) names.push_back(NameOf(type));
  const std::string many = PostgresManyRows(plan->sql, names.data(), names.size());
  if (!many.empty()) {
    const std::string name = plan->name + "m";
    if (PQsendPrepare(connection_, name.c_str(), many.c_str(), 0, nullptr) != 1) return Lost(many);
    absl::StatusOr<Result> prepared = Drain(many);
    if (!prepared.ok()) return prepared.status();
    plan->many = name;
  }
  return plans_.emplace(sql, std::move(plan)).first->second.get();
}

absl::Status PostgresDatabase::Send(const Plan& plan, const std::vector<ColumnValue>& values) {
  const size_t count = plan.types.size();
  WINNOW_CHECK(values.size() >= count, "every parameter is bound: " + plan.sql);
  std::vector<std::string> encoded(count);
  std::vector<const char*> pointers(count);
  std::vector<int> lengths(count), formats(count, kBinary);
  for (size_t i = 0; i < count; ++i) {
    if (std::holds_alternative<std::nullptr_t>(values[i])) continue;
    encoded[i] = Encoded(values[i], plan.types[i]);
    pointers[i] = encoded[i].data();
    lengths[i] = static_cast<int>(encoded[i].size());
  }
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) PQenterPipelineMode(connection_);
  if (PQsendQueryPrepared(connection_, plan.name.c_str(), static_cast<int>(count), pointers.data(),
                          lengths.data(), formats.data(), kBinary) != 1) {
    return Lost(plan.sql);
  }
  ++unanswered_;
  return absl::OkStatus();
}

absl::Status PostgresDatabase::SendText(const std::string& sql) {
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) PQenterPipelineMode(connection_);
  if (PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, kBinary) != 1) {
    return Lost(sql);
  }
  ++unanswered_;
  return absl::OkStatus();
}

absl::Status PostgresDatabase::SendRows() {
  if (rows_.count == 0) return absl::OkStatus();
  const Plan& plan = *rows_.plan;
  const size_t count = plan.types.size();
  std::vector<std::string> arrays(count);
  std::vector<const char*> pointers(count);
  std::vector<int> lengths(count), formats(count, kBinary);
  for (size_t i = 0; i < count; ++i) {
    // One dimension, whether there are nulls, the type, the length, the first index.
    std::string& array = arrays[i];
    array.reserve(20 + rows_.columns[i].size());
    array += BigEndian(uint32_t{1});
    array += BigEndian(uint32_t{rows_.has_null[i] ? 1U : 0U});
    array += BigEndian(uint32_t{plan.types[i]});
    array += BigEndian(static_cast<uint32_t>(rows_.count));
    array += BigEndian(uint32_t{1});
    array += rows_.columns[i];
    pointers[i] = array.data();
    lengths[i] = static_cast<int>(array.size());
  }
  rows_ = {};
  if (PQsendQueryPrepared(connection_, plan.many.c_str(), static_cast<int>(count), pointers.data(),
                          lengths.data(), formats.data(), kBinary) != 1) {
    return Lost(plan.sql);
  }
  ++unanswered_;
  return absl::OkStatus();
}

absl::Status PostgresDatabase::RunLater(const std::string& sql, const std::vector<ColumnValue>& values) {
  if (!open_) return Run(sql, values).status();
  if (!failed_.ok()) return failed_;
  absl::StatusOr<const Plan*> plan = FindPlan(sql);
  if (!plan.ok()) return plan.status();
  if ((*plan)->many.empty()) {
    absl::Status status = SendRows();
    if (status.ok()) status = Send(**plan, values);
    if (status.ok() && unanswered_ >= kMostUnanswered) status = Drain(sql).status();
    return status;
  }
  if (rows_.plan != *plan || rows_.count >= kMostRows) {
    absl::Status status = SendRows();
    if (!status.ok()) return status;
    rows_.plan = *plan;
    rows_.columns.resize((*plan)->types.size());
    rows_.has_null.resize((*plan)->types.size());
  }
  for (size_t i = 0; i < rows_.columns.size(); ++i) {
    if (std::holds_alternative<std::nullptr_t>(values[i])) {
      rows_.columns[i] += BigEndian(uint32_t{0xffffffff});
      rows_.has_null[i] = true;
      continue;
    }
    const std::string encoded = Encoded(values[i], (*plan)->types[i]);
    rows_.columns[i] += BigEndian(static_cast<uint32_t>(encoded.size()));
    rows_.columns[i] += encoded;
  }
  ++rows_.count;
  return absl::OkStatus();
}

absl::StatusOr<PostgresDatabase::Result> PostgresDatabase::Run(const std::string& sql,
                                                               const std::vector<ColumnValue>& values) {
  absl::Status status = Ready();
  if (!status.ok()) return status;
  if (!failed_.ok()) return failed_;
  absl::StatusOr<const Plan*> plan = FindPlan(sql);
  if (!plan.ok()) return plan.status();
  status = SendRows();
  if (status.ok()) status = Send(**plan, values);
  if (!status.ok()) return status;
  absl::StatusOr<Result> result = Drain(sql);
  if (result.ok()) changes_ = strtoll(PQcmdTuples(result->get()), nullptr, 10);
  return result;
}

absl::Status PostgresDatabase::Begin(bool write) {
  absl::Status status = Ready();
  if (!status.ok()) return status;
  failed_ = absl::OkStatus();
  open_ = true;
  writes_ = write;
  status = SendText(write ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  if (status.ok() && write && epoch_ != 0) status = SendText(fmt::format("SELECT winnow_lead({})", epoch_));
  if (!status.ok()) {
    open_ = false;
    failed_ = absl::OkStatus();
  }
  return status;
}

absl::Status PostgresDatabase::Commit() {
  if (hook_ != nullptr && writes_) return CommitHooked();
  absl::Status status = failed_;
  if (status.ok()) status = SendRows();
  if (status.ok()) status = SendText("COMMIT");
  if (status.ok()) status = Drain("COMMIT").status();
  if (status.ok()) open_ = false;
  return status;
}

absl::Status PostgresDatabase::CommitHooked() {
  absl::Status status = failed_;
  if (status.ok()) status = Drain("COMMIT").status();
  if (!status.ok()) return status;
  const CommitFate fate = hook_->FateOf();
  if (fate == CommitFate::kFails) return BreakConnection();
  if (fate == CommitFate::kDiskFull) {
    return Execute("DO $$ BEGIN RAISE 'no space is left' USING ERRCODE = 'disk_full'; END $$");
  }
  if (status = Execute("COMMIT"); !status.ok()) return status;
  hook_->Committed();
  if (fate == CommitFate::kUnknown) return BreakConnection();
  open_ = false;
  return absl::OkStatus();
}

absl::Status PostgresDatabase::BreakConnection() {
  shutdown(PQsocket(connection_), SHUT_RDWR);
  lost_ = true;
  return Failed(PostgresStatus("", file_, "the connection was broken", "COMMIT"));
}

void PostgresDatabase::Rollback() {
  rows_ = {};
  if (Alive() && unanswered_ > 0) (void)Drain("ROLLBACK");
  open_ = false;
  failed_ = absl::OkStatus();
  if (Alive()) (void)Execute("ROLLBACK");
}

absl::StatusOr<int64_t> PostgresDatabase::LastInsertKey() { return QueryInt("SELECT lastval()"); }

absl::Status PostgresDatabase::CheckWritable() {
  if (!Alive()) return Connect();
  return Execute("SELECT 1");
}

absl::Status PostgresDatabase::CheckItself(const std::function<void(const std::string&)>& tell) {
  // PostgreSQL enforces references; those that are not validated were imported with checks off.
  Statement loose(
      *this,
      "SELECT conrelid::regclass::text || ': ' || conname FROM pg_constraint WHERE NOT convalidated"
      " AND connamespace = current_schema()::regnamespace ORDER BY 1");
  return loose.Bind().ForEach([&] {
    tell("PostgreSQL: a constraint was not checked: " + loose.Text(0));
    return absl::OkStatus();
  });
}

absl::StatusOr<int64_t> PostgresDatabase::ReadVersion() {
  absl::StatusOr<int64_t> ours = QueryInt(
      "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'winnow_schema'");
  if (!ours.ok()) return ours.status();
  if (*ours > 0) return QueryInt("SELECT version FROM winnow_schema");
  absl::StatusOr<int64_t> schemas = QueryInt("SELECT COUNT(*) WHERE current_schema() IS NOT NULL");
  if (!schemas.ok()) return schemas.status();
  if (*schemas == 0) {
    return absl::FailedPreconditionError(
        file_ +
        ": there is no schema in which the role may make tables; create one and give it the right to use "
        "it, or name one in the address: options=-csearch_path%3DSCHEMA");
  }
  absl::StatusOr<int64_t> others =
      QueryInt("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()");
  if (!others.ok()) return others.status();
  if (*others == 0) return 0;
  return absl::FailedPreconditionError(
      file_ +
      ": the tables in this database belong to another program; name an empty database, or an empty schema "
      "of this one: options=-csearch_path%3DSCHEMA");
}

absl::Status PostgresDatabase::Migrate(int64_t version, const char* sql) {
  absl::StatusOr<int64_t> before = ReadVersion();
  if (!before.ok()) return before.status();
  absl::Status status = *before == 0 ? Execute(PostgresPrelude()) : absl::OkStatus();
  if (status.ok()) status = Execute(PostgresMigration(version, sql));
  if (!status.ok()) return status;
  return Execute(fmt::format("UPDATE winnow_schema SET version = {}", version));
}

absl::StatusOr<std::vector<std::string>> PostgresDatabase::Columns(const std::string& table) {
  Statement list(
      *this,
      "SELECT column_name::text FROM information_schema.columns WHERE table_schema = current_schema()"
      " AND table_name = ?1 ORDER BY ordinal_position");
  std::vector<std::string> columns;
  absl::Status status = list.Bind(table).ForEach([&] {
    columns.push_back(list.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return columns;
}

absl::StatusOr<int64_t> PostgresDatabase::HighestKey(const std::string& table, const std::string& column) {
  return QueryInt(
      fmt::format("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}_{}_seq", table, column));
}

absl::Status PostgresDatabase::SetHighestKey(const std::string& table, const std::string& column,
                                             int64_t key) {
  if (key == 0) return absl::OkStatus();
  return Execute(fmt::format("SELECT setval('{}_{}_seq', {})", table, column, key));
}

// The rows of a result.
class PostgresCursor final : public Cursor {
 public:
  PostgresCursor(PostgresDatabase& database, std::string_view sql) : database_(database), sql_(sql) {}

  void Reset() override {
    result_.reset();
    row_ = -1;
  }
  void BindInt(int index, int64_t value) override { At(index) = value; }
  void BindReal(int index, double value) override { At(index) = value; }
  void BindText(int index, std::string_view value) override { At(index) = std::string(value); }
  void BindBlob(int index, std::string_view value) override { At(index) = Blob{std::string(value)}; }
  void BindNull(int index) override { At(index) = nullptr; }

  absl::StatusOr<bool> Next() override {
    if (result_ == nullptr) {
      absl::StatusOr<PostgresDatabase::Result> result = database_.Run(sql_, values_);
      if (!result.ok()) return result.status();
      result_ = *std::move(result);
      row_ = -1;
      for (int i = 0; i < PQnfields(result_.get()); ++i) {
        const Oid type = PQftype(result_.get(), i);
        if (IsRead(type)) continue;
        return absl::InternalError(fmt::format("{}: column {} has type {}, which is not read here ({})",
                                               database_.file(), i, type, sql_));
      }
    }
    if (++row_ < PQntuples(result_.get())) return true;
    Reset();
    return false;
  }
  absl::Status RunLater() override { return database_.RunLater(sql_, values_); }

  int64_t Int(int column) const override {
    const char* bytes = Bytes(column);
    if (IsNull(column)) return 0;
    switch (PQftype(result_.get(), column)) {
      case kPgInt8:
        return static_cast<int64_t>(FromBigEndian<uint64_t>(bytes));
      case kPgInt4:
        return static_cast<int32_t>(FromBigEndian<uint32_t>(bytes));
      case kPgInt2:
        return static_cast<int16_t>(FromBigEndian<uint16_t>(bytes));
      case kPgBool:
        return bytes[0];
      case kPgFloat8:
      case kPgFloat4:
        return static_cast<int64_t>(Real(column));
      default:
        return strtoll(Text(column).c_str(), nullptr, 10);
    }
  }
  double Real(int column) const override {
    if (IsNull(column)) return 0;
    switch (PQftype(result_.get(), column)) {
      case kPgFloat8:
        return std::bit_cast<double>(FromBigEndian<uint64_t>(Bytes(column)));
      case kPgFloat4:
        return std::bit_cast<float>(FromBigEndian<uint32_t>(Bytes(column)));
      default:
        return static_cast<double>(Int(column));
    }
  }
  std::string Text(int column) const override {
    return std::string(Bytes(column), PQgetlength(result_.get(), row_, column));
  }
  bool IsNull(int column) const override { return PQgetisnull(result_.get(), row_, column) != 0; }
  ColumnValue Get(int column) const override {
    if (IsNull(column)) return nullptr;
    switch (PQftype(result_.get(), column)) {
      case kPgFloat8:
      case kPgFloat4:
        return Real(column);
      case kPgBytea:
        return Blob{Text(column)};
      case kPgText:
      case kPgVarchar:
      case kPgName:
        return Text(column);
      default:
        return Int(column);
    }
  }

 private:
  ColumnValue& At(int index) {
    if (static_cast<size_t>(index) > values_.size()) values_.resize(static_cast<size_t>(index));
    return values_[static_cast<size_t>(index) - 1];
  }
  const char* Bytes(int column) const { return PQgetvalue(result_.get(), row_, column); }

  PostgresDatabase& database_;
  const std::string sql_;
  std::vector<ColumnValue> values_;
  PostgresDatabase::Result result_;
  int row_ = -1;
};

std::unique_ptr<Cursor> PostgresDatabase::Prepare(std::string_view sql) {
  return std::make_unique<PostgresCursor>(*this, sql);
}

}  // namespace winnow

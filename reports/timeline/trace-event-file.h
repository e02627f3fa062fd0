/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TIMELINE_TRACE_EVENT_FILE_H
#define REPORTS_TIMELINE_TRACE_EVENT_FILE_H

#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reports
{

/// \return the text as JSON; invalid UTF-8 is replaced
std::string QuotedJson(std::string_view text);

/// A file that cannot be written.
class CannotWrite : public std::runtime_error
{
  public:
    /// \param why "No space left on device"
    CannotWrite(const std::string& path, const std::string& why)
        : std::runtime_error(path + ": cannot be written: " + why),
          m_why(why)
    {
    }

    const std::string& Why() const
    {
        return m_why;
    }

  private:
    std::string m_why;
};

/**
 * A file in the trace-event format (JSON object form; "Trace Event Format", Google, 2016), written
 * event by event, a line each. Times are ps, and us in the file, exactly. Processes and threads get
 * numbers in the order in which they are named, in which viewers show them.
 *
 * The file gets its name when it is complete; of one that is not completed nothing stays. Throws
 * CannotWrite.
 */
class TraceEventFile
{
  public:
    /// \param path while it is written
    explicit TraceEventFile(const std::string& path);
    ~TraceEventFile();

    TraceEventFile(const TraceEventFile&) = delete;
    TraceEventFile& operator=(const TraceEventFile&) = delete;

    /// \return the number of a new process, a group of tracks
    uint32_t Process(const std::string& name);
    /// \return the number of a new thread, a track
    uint32_t Thread(uint32_t pid, const std::string& name);
    /// \param name as JSON \param details members of a JSON object, without its braces
    void Slice(uint32_t pid,
               uint32_t tid,
               int64_t begin,
               int64_t end,
               const std::string& name,
               const char* category,
               const std::string& details);
    /// One end of an arrow: belongs to the slice that is open there at that time. \param which "s":
    /// it begins, "f": it ends
    void Arrow(const char* which, uint32_t pid, uint32_t tid, int64_t time, uint64_t identity);
    /// \param details as of a slice
    void Instant(uint32_t pid,
                 uint32_t tid,
                 int64_t time,
                 std::string_view name,
                 const std::string& details);
    /// \param name as JSON \param key of the value, shown as its unit
    void Counter(uint32_t pid,
                 const std::string& name,
                 const char* key,
                 int64_t time,
                 double value);
    /// The file is complete. \param about what stands in "otherData" \param path of the file from
    /// here on
    void Finish(const nlohmann::ordered_json& about, const std::string& path);

    /// \return the number of events, names of tracks not counted
    uint64_t GetEvents() const
    {
        return m_events;
    }

  private:
    [[noreturn]] void Fail(int error) const;
    void Name(const char* what,
              uint32_t pid,
              uint32_t tid,
              const std::string& name,
              uint32_t place);
    void Begin(const char* kind, uint32_t pid, uint32_t tid, int64_t time);
    void End(const char* end);
    void Flush();

    std::string m_path;
    std::FILE* m_file;
    std::string m_text;
    bool m_any{false};
    uint32_t m_processes{0};
    uint32_t m_threads{1000000}; //!< their numbers are never those of processes
    uint64_t m_events{0};
};

/// Puts slices, which come in order of their begin, on as few threads as they need not to overlap.
class TraceLanes
{
  public:
    /// \param name of the first thread; the others have a number more
    TraceLanes(TraceEventFile& trace, uint32_t pid, std::string name);

    /// \return the thread of a slice
    uint32_t Place(int64_t begin, int64_t end);

  private:
    template <typename T>
    using Least = std::priority_queue<T, std::vector<T>, std::greater<T>>;

    TraceEventFile& m_trace;
    uint32_t m_pid;
    std::string m_name;
    Least<std::pair<int64_t, uint32_t>> m_busy; ///< until when
    Least<uint32_t> m_free;
    std::vector<uint32_t> m_threads;
};

} // namespace reports

#endif /* REPORTS_TIMELINE_TRACE_EVENT_FILE_H */

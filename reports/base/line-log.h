/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_LINE_LOG_H
#define REPORTS_BASE_LINE_LOG_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace reports
{

/// Appends picoseconds as microseconds: exact, without trailing zeros ("12.5", "0.000001").
void AppendMicroseconds(std::string& line, int64_t ps);
/// The same as seconds, with up to twelve decimals.
void AppendSeconds(std::string& line, int64_t ps);
/// Appends a fraction or a rate with at most six decimals and no trailing zeros.
void AppendDecimal(std::string& line, double value);
void AppendInteger(std::string& line, uint64_t value);
/// Appends a CSV field, quoted if it must be.
void AppendField(std::string& line, std::string_view text);

/**
 * A text file that is written line by line while a run goes: buffered, flushed once the buffer is
 * large or a second of wall time has passed since the last flush, and when it is closed. What is in
 * the file always ends with a whole line after a flush. When the disk is full the
 * file keeps the lines that are on it, and it has Failed(), which OutputErrors keep.
 */
class LineLog
{
  public:
    /// Writes nowhere until opened.
    LineLog() = default;
    explicit LineLog(const std::string& path);
    ~LineLog();

    LineLog(const LineLog&) = delete;
    LineLog& operator=(const LineLog&) = delete;

    /// Creates the file, or empties it. \return whether that worked
    bool Open(const std::string& path);

    bool IsOpen() const
    {
        return m_file != nullptr;
    }

    /// \param line without the newline
    void Write(std::string_view line);
    void Flush();
    void Close();

    /// Flush all open logs that were not for a second: whoever is called now and then while a run
    /// goes calls this, so that lines do not wait for the next one.
    static void FlushStale();
    /// Closes all open logs: the process ends, and no destructor will be called.
    static void CloseAll();

    bool Failed() const
    {
        return m_failed;
    }

    const std::string& GetPath() const
    {
        return m_path;
    }

  private:
    void Fail(const std::string& error);

    std::string m_path;
    std::FILE* m_file{nullptr};
    std::string m_buffer;
    std::chrono::steady_clock::time_point m_flushed;
    bool m_failed{false};
    uint64_t m_written{0};        //!< bytes
    LineLog* m_nextOpen{nullptr}; //!< list of the open ones
};

} // namespace reports

#endif /* REPORTS_BASE_LINE_LOG_H */

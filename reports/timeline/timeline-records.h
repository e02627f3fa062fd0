/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run's folder holds, for its timeline. Files that are missing, rows that are damaged and a
 * last line that was cut off are as if they were not there.
 */
#ifndef REPORTS_TIMELINE_TIMELINE_RECORDS_H
#define REPORTS_TIMELINE_TIMELINE_RECORDS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reports::timeline
{

using nlohmann::ordered_json;

constexpr uint32_t NONE = UINT32_MAX;

/// A member of stats.json, or null: the file may be of an older version, or made by a user.
const ordered_json& Member(const ordered_json& object, const char* key);
double NumberOf(const ordered_json& value, double otherwise = 0);

/// server-2 comes before server-10: digits are compared as numbers, and come before all else.
bool NaturallyBefore(std::string_view a, std::string_view b);

/// Texts that are there many times, once, by number; each as JSON too.
class Names
{
  public:
    uint32_t operator()(std::string_view text);

    const std::string& Text(uint32_t name) const
    {
        return m_names[name];
    }

    const std::string& Json(uint32_t name) const
    {
        return m_quoted[name];
    }

    /// \return the names in natural order
    std::vector<uint32_t> InOrder(const std::set<uint32_t>& names) const;

  private:
    std::deque<std::string> m_names;
    std::deque<std::string> m_quoted;
    std::unordered_map<std::string_view, uint32_t> m_index; ///< index into m_names
};

struct Call
{
    int64_t start;
    int64_t end;
    uint64_t bytes;
    uint32_t rank;
    uint32_t step;
    uint32_t stream;
    uint32_t kind;
    uint32_t name;
    uint32_t group;
    uint32_t pid;
    uint32_t tid;
};

struct Message
{
    int64_t start;
    int64_t end;
    int64_t ideal;
    uint64_t flow;
    uint64_t bytes;
    uint32_t src;
    uint32_t dst;
    uint32_t tag;
    uint32_t fromGpu;
    uint32_t toGpu;
    const Call* sender;   ///< null: the arrow is between NICs
    const Call* receiver; ///< the same

    double Slowdown() const
    {
        return ideal > 0 ? static_cast<double>(end - start) / static_cast<double>(ideal) : 1;
    }
};

struct Loss
{
    int64_t time;
    std::string what;
    std::string where;
    std::string details;
};

/// A bar of the process "run".
struct Bar
{
    int64_t start;
    int64_t end;
    std::string name;    ///< JSON
    std::string details; ///< members of an object
};

/// A counter's values, each of which holds until the next.
using Series = std::vector<std::pair<int64_t, double>>;

struct Link
{
    double busyPs = 0;
    Series utilization;
    Series queue;
    Series paused;

    std::size_t Events() const
    {
        return utilization.size() + queue.size() + paused.size();
    }
};

/**
 * The files of a folder. Calls and messages may be many: they are read as often as they are asked
 * for, and may have grown meanwhile, if the run is still going.
 */
class Records
{
  public:
    /// Throws std::invalid_argument: of another schema_version; std::runtime_error: a file is not
    /// one of a run.
    explicit Records(const std::string& folder);

    /// Calls `use(call)` for each one.
    void ReadCalls(const std::function<void(const Call&)>& use);
    /// Calls `use(message)` for each one, in the order of the file.
    void ReadMessages(const std::function<void(const Message&)>& use);
    void ReadLinks();

    Names names;
    ordered_json stats;
    std::string problem; ///< why the run is not complete
    int64_t measuredFrom{0};
    std::vector<Bar> steps;
    std::vector<Bar> recovery; ///< lost work, and time of recovering and checkpoints
    std::vector<Bar> collectives;
    std::vector<Loss> losses;
    std::unordered_map<uint32_t, Link> links; ///< by name; after ReadLinks

  private:
    void ReadStats();
    void ReadSteps();
    void ReadCollectives();
    void ReadRecovery();
    void ReadLosses();

    std::string m_folder;
};

} // namespace reports::timeline

#endif // REPORTS_TIMELINE_TIMELINE_RECORDS_H

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/nccl-output.h"

#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recording.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace formats
{

namespace
{

/// Without blanks, and what mpirun or srun puts in front.
std::string_view
Bare(std::string_view line)
{
    constexpr const char* kBlanks = " \t\r";
    if (!line.empty() && line[0] == '[')
    {
        for (const std::string_view end : {"]<stdout>:", "]<stderr>:"})
        {
            const std::size_t at = line.find(end);
            if (at != std::string_view::npos && at < line.find(']') + 1)
            {
                line.remove_prefix(at + end.size());
                break;
            }
        }
    }
    else
    {
        const std::size_t digits = line.find_first_not_of("0123456789");
        if (digits != 0 && digits != std::string_view::npos && line.substr(digits, 2) == ": ")
        {
            line.remove_prefix(digits + 2);
        }
    }
    const std::size_t begin = line.find_first_not_of(kBlanks);
    return begin == std::string_view::npos
               ? std::string_view()
               : line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string>
WordsOf(std::string_view line)
{
    std::istringstream stream{std::string(line)};
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
    {
        words.push_back(std::move(word));
    }
    return words;
}

bool
ParseWhole(const std::string& word, uint64_t most, uint64_t* value)
{
    const char* const end = word.data() + word.size();
    const auto [rest, bad] = std::from_chars(word.data(), end, *value);
    return bad == std::errc() && rest == end && *value <= most;
}

class Reader
{
  public:
    Reader(std::string file, std::vector<topo::Error>& errors)
        : m_file(std::move(file)),
          m_errors(errors)
    {
    }

    std::optional<NcclOutput> Read(const std::string& text);

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file + (m_line > 0 ? ":" + std::to_string(m_line) : ""), "", problem);
        return false;
    }

    bool ReadRemark(const std::vector<std::string>& words);
    bool ReadTest(std::string name);
    bool ReadRow(const std::vector<std::string>& words);

    const std::string m_file;
    std::vector<topo::Error>& m_errors;
    uint64_t m_line = 0;
    std::size_t m_column = 0; ///< of `time` in a row; 0: there was no title so far
    std::set<uint64_t> m_devices;
    std::set<std::string> m_hosts;
    std::map<uint64_t, std::vector<double>> m_times; ///< us, by bytes
    NcclOutput m_output;
};

bool
Reader::ReadTest(std::string name)
{
    constexpr std::string_view kEnd = "_perf";
    if (name.size() > kEnd.size() &&
        name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) == 0)
    {
        name.resize(name.size() - kEnd.size());
    }
    if (!m_output.op.empty() && m_output.op != name)
    {
        return Fail("the test of " + topo::Quoted(name) + " behind that of " +
                    topo::Quoted(m_output.op) + "; allowed: one in a file");
    }
    m_output.op = std::move(name);
    return true;
}

/// A line behind a '#', which may be a word of its own.
bool
Reader::ReadRemark(const std::vector<std::string>& words)
{
    const auto is = [&words](std::size_t i, const char* word) {
        return i < words.size() && words[i] == word;
    };
    uint64_t number = 0;
    if (is(0, "Collective") && is(1, "test") && is(2, "starting:") && words.size() > 3)
    {
        return ReadTest(words[3]);
    }
    if (is(0, "size") && is(1, "count"))
    {
        const auto time = std::find(words.begin(), words.end(), "time");
        m_column = time == words.end() ? m_column : static_cast<std::size_t>(time - words.begin());
        return true;
    }
    if (is(0, "Rank") && words.size() > 1 && ParseWhole(words[1], kMostRanks, &number))
    {
        const auto on = std::find(words.begin(), words.end(), "on");
        const auto device = std::find(words.begin(), words.end(), "device");
        if (on == words.end() || device - on != 2)
        {
            return true; // of another program
        }
        m_hosts.insert(on[1]);
        return m_devices.insert(number).second ||
               Fail("rank " + words[1] + " a second time: is nccl-tests built with MPI?");
    }
    // "all_reduce, algorithm ring; 16 ranks on 2 servers, ..." of collperf
    if (is(1, "algorithm") && words[0].size() > 1 && words[0].back() == ',')
    {
        for (std::size_t i = 2; i + 4 < words.size(); ++i)
        {
            uint64_t ranks = 0;
            if (words[i + 1].compare(0, 4, "rank") == 0 && is(i + 2, "on") &&
                words[i + 4].compare(0, 6, "server") == 0 &&
                ParseWhole(words[i], kMostRanks, &ranks) &&
                ParseWhole(words[i + 3], kMostRanks, &number))
            {
                m_output.ranks = static_cast<uint32_t>(ranks);
                m_output.hosts = static_cast<uint32_t>(number);
                return ReadTest(words[0].substr(0, words[0].size() - 1));
            }
        }
    }
    return true;
}

bool
Reader::ReadRow(const std::vector<std::string>& words)
{
    uint64_t bytes = 0;
    uint64_t count = 0;
    if (m_column == 0 || words.size() <= m_column || !ParseWhole(words[0], kMostBytes, &bytes) ||
        !ParseWhole(words[1], kMostBytes, &count))
    {
        return true; // of another program
    }
    const std::string& word = words[m_column];
    const char* const end = word.data() + word.size();
    double us = 0;
    const auto [rest, bad] = std::from_chars(word.data(), end, us);
    if (bad != std::errc() || rest != end || !(us > 0) || !(us <= kLongestPs * 1e-6))
    {
        return Fail(topo::Quoted(word) + " where there should be the time of a row, microseconds "
                                         "above 0, at most 1e9");
    }
    if (bytes > 0)
    {
        m_times[bytes].push_back(us);
    }
    return true;
}

std::optional<NcclOutput>
Reader::Read(const std::string& text)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
    {
        ++m_line;
        std::string_view bare = Bare(line);
        const bool remark = !bare.empty() && bare[0] == '#';
        if (remark)
        {
            bare.remove_prefix(1);
        }
        const std::vector<std::string> words = WordsOf(bare);
        if (!words.empty() && !(remark ? ReadRemark(words) : ReadRow(words)))
        {
            return std::nullopt;
        }
    }
    m_line = 0;
    if (m_times.empty())
    {
        Fail("is no output of nccl-tests: there are no rows of a table (\"# size count type ... "
             "time ...\" and a line for each size)");
        return std::nullopt;
    }
    for (auto& [bytes, times] : m_times)
    {
        std::sort(times.begin(), times.end());
        const std::size_t half = times.size() / 2;
        m_output.time[bytes] = times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
    }
    if (!m_devices.empty())
    {
        m_output.ranks = static_cast<uint32_t>(m_devices.size());
        m_output.hosts = static_cast<uint32_t>(m_hosts.size());
    }
    return std::move(m_output);
}

} // namespace

std::optional<NcclOutput>
ReadNcclOutput(const std::string& text, const std::string& file, std::vector<topo::Error>& errors)
{
    return Reader(file, errors).Read(text);
}

} // namespace formats

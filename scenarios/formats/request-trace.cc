/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/request-trace.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/request-columns.h"
#include "scenarios/serving/requests.h"
#include "scenarios/traffic/csv-line.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <unordered_set>

namespace formats
{

namespace
{

using nlohmann::json;

constexpr std::size_t kMostErrors = 20; ///< then a file is given up
constexpr std::size_t kMostRuns = 20;   ///< values of a column that an error names
/// Simulated time ends before a clock of ps does.
constexpr WidePs kLongest = WidePs{1'000'000} * 1'000'000'000'000;

/// The requests of a file so far, with its errors.
class Collector
{
  public:
    Collector(std::string file, RequestFilter filter, std::vector<topo::Error>& errors)
        : m_file(std::move(file)),
          m_filter(std::move(filter)),
          m_errors(errors),
          m_before(errors.size())
    {
    }

    const RequestFilter& Filter() const
    {
        return m_filter;
    }

    /// \param place "7", a line; or a JSON path
    void Fail(const std::string& place, const std::string& problem)
    {
        const bool path = !place.empty() && place.front() == '/';
        topo::Error error;
        error.file = path || place.empty() ? m_file : "";
        error.where = path || place.empty() ? place : m_file + ":" + place;
        error.problem = problem;
        m_errors.push_back(std::move(error));
    }

    bool Fine() const
    {
        return m_errors.size() == m_before;
    }

    bool TooMany() const
    {
        return m_errors.size() - m_before >= kMostErrors;
    }

    /// Columns that do not exist, or that choose nothing yet. \param row the line of the names
    void CheckFilter(const std::vector<std::string>& names, const std::string& row)
    {
        for (const auto& [column, value] : m_filter)
        {
            if (FindColumn(names, column) == kNoColumn)
            {
                Fail(row,
                     "no column '" + rdma::Shown(column, 60) + "', which --requests-where names" +
                         topo::DidYouMean(column, names));
            }
        }
    }

    /// Whether a request with this value in this column is meant.
    bool Takes(const std::string& column, const std::string& value)
    {
        for (const auto& [name, wanted] : m_filter)
        {
            if (topo::SameName(name, column))
            {
                m_seen[column].insert(value);
                return wanted == "*" || topo::SameName(wanted, value);
            }
        }
        return true;
    }

    /// A column of which a file may have several runs.
    void SeeRun(const std::string& column, const std::string& value)
    {
        m_runs[column].insert(value);
    }

    bool IsChosen(const std::string& column) const
    {
        return std::any_of(m_filter.begin(), m_filter.end(), [&column](const auto& one) {
            return topo::SameName(one.first, column);
        });
    }

    /// \param arrival nothing: it has none
    void Add(std::optional<WidePs> arrival, uint32_t prompt, uint32_t output)
    {
        if (prompt == 0 || output == 0)
        {
            ++m_trace.left;
            return;
        }
        m_arrivals.push_back(arrival.value_or(-1));
        m_trace.requests.push_back({-1, prompt, output});
    }

    RequestTrace& Trace()
    {
        return m_trace;
    }

    /// Nothing after an error.
    std::optional<RequestTrace> Take(bool hasArrivals)
    {
        CheckRuns();
        if (Fine() && m_trace.requests.empty())
        {
            Fail("",
                 m_trace.left > 0
                     ? "all requests have 0 tokens"
                     : "has no requests" + std::string(m_filter.empty() ? "" : ThatMatch()));
        }
        if (Fine() && m_trace.requests.size() > kMostRequests)
        {
            Fail("", "has more than " + std::to_string(kMostRequests) + " requests");
        }
        m_trace.hasArrivals = hasArrivals;
        if (Fine() && hasArrivals)
        {
            SetArrivals();
        }
        return Fine() ? std::optional(std::move(m_trace)) : std::nullopt;
    }

  private:
    std::string ThatMatch() const
    {
        std::string text = " that --requests-where chooses";
        for (const auto& [column, values] : m_seen)
        {
            text += "; " + column + ": " + ValuesText(values);
        }
        return text;
    }

    static std::string ValuesText(const std::set<std::string>& values)
    {
        std::string text;
        std::size_t shown = 0;
        for (const std::string& value : values)
        {
            if (++shown > kMostRuns)
            {
                return text + ", ...";
            }
            text += (text.empty() ? "" : ", ") + rdma::Shown(value, 60);
        }
        return text;
    }

    void CheckRuns()
    {
        for (const auto& [column, values] : m_runs)
        {
            if (Fine() && values.size() > 1)
            {
                Fail("",
                     "has requests of several values of " + column + ": " + ValuesText(values) +
                         "; --requests-where=" + column + "=" + rdma::Shown(*values.begin(), 60) +
                         " takes those of one, " + column + "=* all");
            }
        }
    }

    void SetArrivals()
    {
        std::vector<std::size_t> order(m_arrivals.size());
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            order[i] = i;
        }
        std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            return m_arrivals[a] < m_arrivals[b];
        });
        const WidePs first = m_arrivals[order.front()];
        if (m_arrivals[order.back()] - first > kLongest)
        {
            Fail("", "lasts longer than 1000000 s; allowed: a part of it, as --count takes");
            return;
        }
        std::vector<serving::Request> sorted;
        sorted.reserve(order.size());
        for (const std::size_t i : order)
        {
            sorted.push_back(m_trace.requests[i]);
            sorted.back().arrival = static_cast<int64_t>(m_arrivals[i] - first);
        }
        m_trace.requests = std::move(sorted);
    }

    std::string m_file;
    RequestFilter m_filter;
    std::vector<topo::Error>& m_errors;
    std::size_t m_before;
    std::map<std::string, std::set<std::string>> m_seen; ///< values of filtered columns
    std::map<std::string, std::set<std::string>> m_runs;
    std::vector<WidePs> m_arrivals;
    RequestTrace m_trace;
};

std::string
NoTime(const std::string& name, const std::string& text)
{
    return name + " '" + rdma::Shown(text, 60) +
           "' is no time; allowed: a number, 0 or more, or a date such as 2023-11-16 18:17:03.98";
}

std::string
NoTokens(const std::string& name, const std::string& text)
{
    return name + " '" + rdma::Shown(text, 60) + "' is no number of tokens; allowed: 0 to " +
           std::to_string(serving::kMostTokens);
}

/// A table whose first line names its columns.
class CsvRequests
{
  public:
    explicit CsvRequests(Collector* to)
        : m_to(*to)
    {
    }

    std::optional<RequestTrace> Read(const std::string& text)
    {
        std::istringstream stream(text.rfind("\xEF\xBB\xBF", 0) == 0 ? text.substr(3) : text);
        std::string line;
        std::vector<std::string> fields;
        while (std::getline(stream, line) && !m_to.TooMany())
        {
            ++m_line;
            if (line.find_first_not_of(" \t\r,") == std::string::npos)
            {
                continue;
            }
            if (!scenario::SplitCsvLine(line, &fields))
            {
                Fail("a quote is not closed");
            }
            else if (m_names.empty())
            {
                TakeNames(fields);
                if (!m_to.Fine())
                {
                    return std::nullopt;
                }
            }
            else if (fields.size() != m_names.size())
            {
                Fail(std::to_string(fields.size()) + " fields, the first line names " +
                     std::to_string(m_names.size()));
            }
            else
            {
                TakeFields(fields);
            }
        }
        if (m_names.empty())
        {
            m_to.Fail("", "has no line that names columns: arrival_s,input_tokens,output_tokens");
            return std::nullopt;
        }
        return m_to.Take(m_columns.arrival != kNoColumn);
    }

  private:
    void Fail(const std::string& problem)
    {
        m_to.Fail(std::to_string(m_line), problem);
    }

    void TakeNames(const std::vector<std::string>& fields)
    {
        m_names = fields;
        for (auto name = m_names.begin(); name != m_names.end(); ++name)
        {
            if (!name->empty() && std::find(m_names.begin(), name, *name) != name)
            {
                Fail("column '" + rdma::Shown(*name, 60) + "' stands there twice");
            }
        }
        m_columns = FindRequestColumns(m_names, false);
        if (!m_columns.problem.empty())
        {
            Fail(m_columns.problem);
        }
        m_to.CheckFilter(m_names, std::to_string(m_line));
        for (const std::string& run : RunColumns())
        {
            const std::size_t at = FindColumn(m_names, run);
            if (at != kNoColumn && !m_to.IsChosen(run))
            {
                m_runs.push_back(at);
            }
        }
        for (const auto& one : m_to.Filter())
        {
            m_filtered.push_back(FindColumn(m_names, one.first));
        }
    }

    void TakeFields(const std::vector<std::string>& fields)
    {
        for (const std::size_t column : m_filtered)
        {
            if (!m_to.Takes(m_names[column], fields[column]))
            {
                return;
            }
        }
        for (const std::size_t column : m_runs)
        {
            m_to.SeeRun(m_names[column], fields[column]);
        }
        std::optional<WidePs> arrival;
        if (m_columns.arrival != kNoColumn)
        {
            arrival = ParseArrival(fields[m_columns.arrival], m_columns.digits);
            if (!arrival)
            {
                Fail(NoTime(m_names[m_columns.arrival], fields[m_columns.arrival]));
            }
        }
        const auto prompt = Tokens(fields, m_columns.prompt);
        const auto output = Tokens(fields, m_columns.output);
        m_to.Add(arrival, prompt, output);
    }

    uint32_t Tokens(const std::vector<std::string>& fields, std::size_t column)
    {
        const auto tokens = ParseTokenCount(fields[column]);
        if (!tokens)
        {
            Fail(NoTokens(m_names[column], fields[column]));
        }
        return tokens.value_or(1);
    }

    Collector& m_to;
    uint64_t m_line = 0;
    std::vector<std::string> m_names;
    RequestColumns m_columns;
    std::vector<std::size_t> m_filtered;
    std::vector<std::size_t> m_runs;
};

/// A number or text of JSON as a CSV has it.
std::string
FieldOf(const json& value)
{
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Code points of UTF-8.
std::size_t
CharactersOf(const std::string& text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

uint32_t
EstimatedTokens(const std::string& text)
{
    const double tokens = std::ceil(static_cast<double>(CharactersOf(text)) / kCharactersOfToken);
    return static_cast<uint32_t>(std::min<double>(tokens, serving::kMostTokens));
}

/// JSON objects, one after another.
class JsonRequests
{
  public:
    explicit JsonRequests(Collector* to)
        : m_to(*to)
    {
    }

    /// \param place a line, or a JSON path
    void Take(const json& object, const std::string& place)
    {
        if (!object.is_object())
        {
            m_to.Fail(place, "is no JSON object with a request");
            return;
        }
        for (const char* turns : {"conversations", "conversation", "messages"})
        {
            if (object.contains(turns))
            {
                TakeConversation(object[turns], place);
                return;
            }
        }
        TakeRequest(object, place);
    }

    std::optional<RequestTrace> Finish()
    {
        if (m_promptTokens > 0)
        {
            m_to.Trace().prefixShare = m_sharedTokens / m_promptTokens;
        }
        return m_to.Take(m_arrivals);
    }

  private:
    void TakeRequest(const json& object, const std::string& place)
    {
        std::vector<std::string> names;
        std::vector<const json*> values;
        for (const auto& [name, value] : object.items())
        {
            names.push_back(name);
            values.push_back(&value);
        }
        if (names != m_names)
        {
            m_names = names;
            m_columns = FindRequestColumns(names, true);
        }
        if (!m_columns.problem.empty())
        {
            m_to.Fail(place, m_columns.problem);
            return;
        }
        m_to.CheckFilter(names, place);
        for (std::size_t i = 0; i < names.size(); ++i)
        {
            if (!m_to.Takes(names[i], FieldOf(*values[i])))
            {
                return;
            }
        }
        for (const std::string& run : RunColumns())
        {
            const std::size_t at = FindColumn(names, run);
            if (at != kNoColumn && !m_to.IsChosen(run))
            {
                m_to.SeeRun(names[at], FieldOf(*values[at]));
            }
        }
        std::optional<WidePs> arrival;
        if (m_columns.arrival != kNoColumn)
        {
            const std::string text = FieldOf(*values[m_columns.arrival]);
            arrival = ParseArrival(text, m_columns.digits);
            if (!arrival)
            {
                m_to.Fail(place, NoTime(names[m_columns.arrival], text));
            }
        }
        NoteArrival(arrival.has_value(), place);
        const uint32_t prompt = Tokens(names, values, m_columns.prompt, place);
        const uint32_t output = Tokens(names, values, m_columns.output, place);
        CountShared(object, prompt);
        m_to.Add(arrival, prompt, output);
    }

    uint32_t Tokens(const std::vector<std::string>& names,
                    const std::vector<const json*>& values,
                    std::size_t column,
                    const std::string& place)
    {
        const std::string text = FieldOf(*values[column]);
        const auto tokens = ParseTokenCount(text);
        if (!tokens)
        {
            m_to.Fail(place, NoTokens(names[column], text));
        }
        return tokens.value_or(1);
    }

    /// All requests have an arrival, or none.
    void NoteArrival(bool has, const std::string& place)
    {
        if (m_any && has != m_arrivals)
        {
            m_to.Fail(place,
                      has ? "has an arrival, and those before it have none"
                          : "has no arrival, and those before it have one");
        }
        m_any = true;
        m_arrivals = m_arrivals || has;
    }

    void CountShared(const json& object, uint32_t prompt)
    {
        const auto ids = object.find("hash_ids");
        if (ids == object.end() || !ids->is_array())
        {
            return;
        }
        std::size_t blocks = 0;
        bool shared = true;
        for (const json& id : *ids)
        {
            const bool isNew = m_blocks.insert(FieldOf(id)).second;
            shared = shared && !isNew;
            blocks += shared ? 1 : 0;
        }
        m_promptTokens += prompt;
        m_sharedTokens += std::min<double>(prompt, static_cast<double>(blocks) * kMooncakeBlock);
    }

    /// Text of one turn; null: it has none.
    const json* TextOf(const json& turn)
    {
        for (const char* key : {"value", "content"})
        {
            if (turn.is_object() && turn.contains(key) && turn[key].is_string())
            {
                return &turn[key];
            }
        }
        return nullptr;
    }

    /// The first two turns. One that has no answer asks for no tokens.
    void TakeConversation(const json& turns, const std::string& place)
    {
        if (!turns.is_array())
        {
            m_to.Fail(place, "has conversations that are no list of turns");
            return;
        }
        m_to.Trace().estimated = true;
        NoteArrival(false, place);
        if (turns.size() < 2)
        {
            m_to.Add(std::nullopt, 0, 0);
            return;
        }
        const json* const question = TextOf(turns[0]);
        const json* const answer = TextOf(turns[1]);
        if (!question || !answer)
        {
            m_to.Fail(place, "has a turn without a text, 'value' or 'content'");
            return;
        }
        m_to.Add(std::nullopt,
                 EstimatedTokens(question->get_ref<const std::string&>()),
                 EstimatedTokens(answer->get_ref<const std::string&>()));
    }

    Collector& m_to;
    std::vector<std::string> m_names;
    RequestColumns m_columns;
    bool m_any = false;
    bool m_arrivals = false;
    std::unordered_set<std::string> m_blocks;
    double m_promptTokens = 0;
    double m_sharedTokens = 0;
};

/// An object a line.
std::optional<RequestTrace>
ReadLines(const std::string& text, Collector* to)
{
    JsonRequests requests(to);
    std::istringstream stream(text);
    std::string line;
    uint64_t number = 0;
    while (std::getline(stream, line) && !to->TooMany())
    {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos)
        {
            continue;
        }
        try
        {
            requests.Take(json::parse(line), std::to_string(number));
        }
        catch (const json::exception& e)
        {
            to->Fail(std::to_string(number) + ":" + std::to_string(topo::JsonByte(e, line) + 1),
                     "is no JSON: " + topo::JsonReason(e.what()));
        }
    }
    return requests.Finish();
}

std::optional<RequestTrace>
ReadList(const std::string& text,
         const std::string& file,
         Collector* to,
         std::vector<topo::Error>& errors)
{
    topo::JsonText parsed = topo::ParseJsonText(text, file);
    if (parsed.error)
    {
        errors.push_back(std::move(parsed.error));
        return std::nullopt;
    }
    JsonRequests requests(to);
    for (std::size_t i = 0; i < parsed.value.size() && !to->TooMany(); ++i)
    {
        requests.Take(parsed.value[i], "/" + std::to_string(i));
    }
    return requests.Finish();
}

} // namespace

std::optional<RequestTrace>
ParseRequestTrace(const std::string& text,
                  const std::string& file,
                  const RequestFilter& filter,
                  std::vector<topo::Error>& errors)
{
    Collector to(file, filter, errors);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
    {
        to.Fail("", "is empty");
        return std::nullopt;
    }
    return text[first] == '['   ? ReadList(text, file, &to, errors)
           : text[first] == '{' ? ReadLines(text, &to)
                                : CsvRequests(&to).Read(text);
}

std::optional<RequestTrace>
ReadRequestTrace(const std::string& file,
                 const RequestFilter& filter,
                 std::vector<topo::Error>& errors)
{
    const auto text = ReadInput(file, errors);
    return text ? ParseRequestTrace(*text, file, filter, errors) : std::nullopt;
}

} // namespace formats

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/kineto/kineto-events.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/kineto/kineto.h"
#include "topologies/json-builder.h"
#include "topologies/json-text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

namespace formats
{

using nlohmann::json;

namespace
{

/// Levels of nested objects; the deepest that is read has six.
constexpr int kMostLevels = 64;

bool
IsNccl(const std::string& name)
{
    return name.compare(0, 4, "nccl") == 0;
}

/// The first key of a JSON object, as far as one can see.
std::string
FirstKey(std::string_view text)
{
    constexpr const char* kBlanks = " \t\r\n";
    std::size_t at = text.find_first_not_of(kBlanks);
    if (at == std::string_view::npos || text[at] != '{')
    {
        return {};
    }
    at = text.find_first_not_of(kBlanks, at + 1);
    if (at == std::string_view::npos || text[at] != '"')
    {
        return {};
    }
    const std::size_t end = text.find('"', at + 1);
    return end == std::string_view::npos ? std::string()
                                         : std::string(text.substr(at + 1, end - at - 1));
}

class Texts
{
  public:
    Texts(KinetoRun& run, std::vector<topo::Error>& errors)
        : m_run(run),
          m_errors(errors)
    {
    }

    bool AddText(const std::string& text, const std::string& file);

  private:
    bool Fail(const std::string& problem)
    {
        AddError(m_errors, m_file, m_where, problem);
        return false;
    }

    bool Parse(const std::string& text, json* document);
    bool AddTrace(const json& document);
    bool AddEntry(const json& event, KinetoTrace* trace);
    void AddGroups(const json& groups);

    KinetoRun& m_run;
    std::vector<topo::Error>& m_errors;
    std::string m_file;
    std::string m_where;
    std::vector<std::size_t> m_places; ///< Places in the list of the events that were kept.
};

/// A trace has millions of events that do not count: they are thrown away as they are read.
class EventFilter : public topo::JsonBuilder
{
  public:
    bool deep = false;
    std::string twice; ///< a key of the document that stands twice: one of both would be ignored
    std::optional<std::size_t> wrong; ///< an event that is no object
    std::vector<std::size_t> places;  ///< in the list, of the events that were kept

  private:
    bool OnKey(int depth, const std::string& key, bool again) override
    {
        if (depth == 1)
        {
            m_list = key;
            twice = again ? key : twice;
        }
        return true;
    }

    bool OnOpen(int depth) override
    {
        deep = depth > kMostLevels + 1;
        return !deep;
    }

    bool OnElement(int depth, const json& event) override
    {
        static const std::set<std::string> kCounts = {"kernel",
                                                      "gpu_memcpy",
                                                      "gpu_memset",
                                                      "cuda_runtime",
                                                      "cuda_driver",
                                                      "cuda_sync",
                                                      "user_annotation"};
        if (depth != 2 || m_list != "traceEvents")
        {
            return true;
        }
        const std::size_t place = m_events++;
        if (!event.is_object())
        {
            wrong = wrong.value_or(place);
            return false;
        }
        const auto category = event.find("cat");
        const bool counts = category != event.end() && category->is_string() &&
                            kCounts.count(category->get_ref<const std::string&>()) > 0;
        if (counts)
        {
            places.push_back(place);
        }
        return counts;
    }

    std::string m_list;
    std::size_t m_events = 0;
};

bool
Texts::Parse(const std::string& text, json* document)
{
    EventFilter filter;
    filter.Read(text);
    if (!filter.Reason().empty())
    {
        m_where = "byte " + std::to_string(filter.Byte());
        return Fail("is no JSON: " + rdma::Shown(filter.Reason(), 300));
    }
    *document = filter.Take();
    m_places = std::move(filter.places);
    if (filter.deep || !document->is_object())
    {
        return Fail(filter.deep ? "has more than " + std::to_string(kMostLevels) + " levels of JSON"
                                : std::string("is no JSON object"));
    }
    if (!filter.twice.empty())
    {
        return Fail("the key " + topo::Quoted(filter.twice) + " stands twice in the document");
    }
    if (filter.wrong)
    {
        m_where = "/traceEvents/" + std::to_string(*filter.wrong);
        return Fail("is no JSON object, as an event is");
    }
    return true;
}

void
Texts::AddGroups(const json& groups)
{
    if (!groups.is_array())
    {
        return;
    }
    for (const json& group : groups)
    {
        const std::string name = group.is_object() ? TextIn(group, "pg_name") : "";
        const auto ranks = group.is_object() ? ListIn(group, "ranks") : std::nullopt;
        if (name.empty() || !ranks)
        {
            continue; // a list of something else
        }
        const auto [found, isNew] = m_run.groups.emplace(name, *ranks);
        if (!isNew && found->second != *ranks)
        {
            m_run.twoGroups.insert(name);
        }
    }
}

bool
Texts::AddEntry(const json& event, KinetoTrace* trace)
{
    const std::string category = TextIn(event, "cat");
    const std::string name = TextIn(event, "name");
    const auto begin = event.find("ts");
    const auto duration = event.find("dur");
    const bool step = category == "user_annotation" && Contains(name, "ProfilerStep#");
    if (TextIn(event, "ph") != "X" || (category == "user_annotation" && !step))
    {
        return true;
    }
    if (begin == event.end() || !begin->is_number() || duration == event.end() ||
        !duration->is_number() || !(duration->get<double>() >= 0) ||
        !(std::abs(begin->get<double>()) < 1e18) || duration->get<double>() > kLongestPs / 1e6)
    {
        return Fail(topo::Quoted(name) +
                    ": \"ts\" and \"dur\" are not times in us, at most 1000 s");
    }
    if (!rdma::IsPlain(name))
    {
        return Fail(topo::Quoted(name) + " is no name; allowed: " + rdma::kPlainHelp);
    }
    KinetoEntry entry;
    entry.name = name;
    entry.begin = begin->get<double>();
    entry.end = entry.begin + duration->get<double>();
    if (step)
    {
        const std::string digits = name.substr(name.find('#') + 1);
        if (!digits.empty() && digits.size() < 10 &&
            digits.find_first_not_of("0123456789") == std::string::npos)
        {
            trace->steps[std::stoll(digits)] = {entry.begin, entry.end};
        }
        return true;
    }
    const auto args = event.find("args");
    if (args == event.end() || !args->is_object())
    {
        const bool kernel = category == "kernel" || category.compare(0, 4, "gpu_") == 0;
        return !kernel || Fail(topo::Quoted(name) + " has no \"args\", and so no launch");
    }
    entry.correlation = WholeIn(*args, "correlation").value_or(-1);
    entry.stream = WholeIn(*args, "stream").value_or(-1);
    if (category == "cuda_runtime" || category == "cuda_driver")
    {
        entry.what = KinetoEntry::What::kCall;
    }
    else if (category == "cuda_sync")
    {
        entry.what = KinetoEntry::What::kSync;
        entry.waitStream = WholeIn(*args, "wait_on_stream").value_or(-1);
        entry.recorded = WholeIn(*args, "wait_on_cuda_event_record_corr_id").value_or(-1);
        m_run.exact = m_run.exact || entry.waitStream >= 0;
    }
    else if (IsNccl(name) || args->contains("Collective name"))
    {
        entry.args = *args;
    }
    trace->entries.push_back(std::move(entry));
    return true;
}

bool
Texts::AddTrace(const json& document)
{
    KinetoTrace trace;
    trace.file = m_file;
    const auto about = document.find("distributedInfo");
    if (about != document.end() && about->is_object())
    {
        trace.rank = WholeIn(*about, "rank").value_or(-1);
        trace.world = WholeIn(*about, "world_size").value_or(-1);
        if (about->contains("pg_config"))
        {
            AddGroups((*about)["pg_config"]);
        }
    }
    const auto events = document.find("traceEvents");
    if (events == document.end() || !events->is_array())
    {
        return Fail("has no \"traceEvents\"");
    }
    for (std::size_t i = 0; i < events->size(); ++i)
    {
        m_where = "/traceEvents/" + std::to_string(m_places[i]);
        if (!AddEntry((*events)[i], &trace))
        {
            return false;
        }
    }
    m_where.clear();
    m_run.traces.push_back(std::move(trace));
    return true;
}

bool
Texts::AddText(const std::string& text, const std::string& file)
{
    m_file = file;
    m_where.clear();
    const bool groups = IsExecutionTrace(text);
    json document;
    if (!groups && !IsKineto(text))
    {
        m_where = "byte 0";
        return Fail("is neither a trace of Kineto nor an execution trace of PyTorch, which begin "
                    "with {\"schemaVersion\" or the like, and {\"schema\"");
    }
    if (!Parse(text, &document))
    {
        return false;
    }
    if (!groups)
    {
        return AddTrace(document);
    }
    const auto nodes = document.find("nodes");
    if (nodes == document.end() || !nodes->is_array())
    {
        return Fail("has no \"nodes\"");
    }
    for (const json& node : *nodes)
    {
        if (!node.is_object() || !Contains(TextIn(node, "name"), "process_group:init") ||
            !node.contains("inputs") || !node["inputs"].is_object())
        {
            continue;
        }
        const auto values = node["inputs"].find("values");
        if (values != node["inputs"].end() && values->is_array() && !values->empty() &&
            (*values)[0].is_string())
        {
            AddGroups(topo::JsonOrDiscarded((*values)[0].get_ref<const std::string&>()));
        }
    }
    return true;
}

} // namespace

bool
Contains(const std::string& text, const char* part)
{
    return text.find(part) != std::string::npos;
}

std::optional<int64_t>
WholeIn(const json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end())
    {
        return std::nullopt;
    }
    if (found->is_number_integer() &&
        (!found->is_number_unsigned() || found->get<uint64_t>() <= INT64_MAX))
    {
        return found->get<int64_t>();
    }
    if (found->is_string())
    {
        const auto& text = found->get_ref<const std::string&>();
        if (!text.empty() && text.size() < 19 &&
            text.find_first_not_of("0123456789") == std::string::npos)
        {
            return std::stoll(text);
        }
    }
    return std::nullopt;
}

std::optional<std::vector<uint64_t>>
ListIn(const json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end())
    {
        return std::nullopt;
    }
    const json list =
        found->is_string() ? topo::JsonOrDiscarded(found->get_ref<const std::string&>()) : *found;
    if (!list.is_array())
    {
        return std::nullopt;
    }
    std::vector<uint64_t> numbers;
    for (const json& one : list)
    {
        if (!one.is_number_unsigned())
        {
            return std::nullopt;
        }
        numbers.push_back(one.get<uint64_t>());
    }
    return numbers;
}

std::string
TextIn(const json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string())
    {
        return found != object.end() && found->is_number() ? found->dump() : std::string();
    }
    return found->get<std::string>();
}

bool
IsKineto(const std::string& text)
{
    static const std::set<std::string> kKeys = {"schemaVersion",
                                                "deviceProperties",
                                                "distributedInfo",
                                                "traceEvents",
                                                "displayTimeUnit",
                                                "baseTimeNanoseconds"};
    return kKeys.count(FirstKey(text)) > 0;
}

bool
IsExecutionTrace(const std::string& text)
{
    return FirstKey(text) == "schema";
}

std::string
KinetoPlace(double us)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "ts %.3f", us);
    return text.data();
}

bool
AddKinetoText(const std::string& text,
              const std::string& file,
              KinetoRun* run,
              std::vector<topo::Error>& errors)
{
    return Texts(*run, errors).AddText(text, file);
}

} // namespace formats

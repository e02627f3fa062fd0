/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/schema/written.h"

#include "scenarios/options/text-of-others.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace reports
{

namespace
{

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::pair<Section, const Shape*>>;

constexpr std::array<const char*, static_cast<std::size_t>(Section::COUNT)> TITLES = {
    "The run",
    "Job and step",
    "Recorded steps and captures",
    "Parameter servers",
    "Critical path",
    "Collectives and tuner",
    "Messages, packets and links",
    "Faults and recovery",
    "TCP, UDP, background and jobs",
    "Traffic",
    "Goodput over weeks",
    "Serving",
    "Many models on a GPU",
    "Planning"};

Keys&
AllKeys()
{
    static Keys keys;
    return keys;
}

std::vector<const TableWords*>&
AllTables()
{
    static std::vector<const TableWords*> tables;
    return tables;
}

Json
KeysOf(const Shape& shape, Json& shapes)
{
    Json keys = Json::array();
    for (const Shape::Member& member : shape.Members())
    {
        Json one = {{"name", member.name}, {"unit", member.unit}, {"meaning", member.meaning}};
        if (member.isList)
        {
            one["list"] = true;
        }
        if (member.inside && !member.inside->GetName().empty())
        {
            const std::string& name = member.inside->GetName();
            one["shape"] = name;
            if (!shapes.contains(name))
            {
                shapes[name] = nullptr;
                Json inside = KeysOf(*member.inside, shapes);
                shapes[name] = std::move(inside);
            }
        }
        else if (member.inside)
        {
            one["keys"] = KeysOf(*member.inside, shapes);
        }
        keys.push_back(std::move(one));
    }
    return keys;
}

const scenario::TextOfOthers g_list("results", "Files, columns and keys of results", WrittenAsJson);

} // namespace

Words::Words(const char* declared)
{
    const std::string text(declared);
    const std::size_t colon = text.find(": ");
    const std::size_t open = text.rfind(" (", colon);
    name = text.substr(0, std::min(open, colon));
    unit = open < colon ? text.substr(open + 2, colon - open - 3) : "";
    meaning = text.substr(colon + 2);
}

RegisteredKeys::RegisteredKeys(Section section, const Shape& keys)
{
    AllKeys().emplace_back(section, &keys);
}

TableWords::TableWords(std::string file, char separator)
    : m_file(std::move(file)),
      m_separator(separator)
{
    AllTables().push_back(this);
}

TableWords::~TableWords()
{
    auto& all = AllTables();
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
}

std::string
HeaderOf(const std::string& file)
{
    const auto& all = AllTables();
    const TableWords* table = *std::find_if(all.begin(), all.end(), [&](const TableWords* one) {
        return one->GetFile() == file;
    });
    std::string header;
    for (const TableWords::Typed& column : table->Columns())
    {
        header += (header.empty() ? "" : std::string(1, table->GetSeparator())) + column.name;
    }
    return header;
}

std::string
WrittenAsJson()
{
    // In an order of their own: that of static objects is nobody's.
    std::vector<const TableWords*> tables = AllTables();
    std::sort(tables.begin(), tables.end(), [](const TableWords* a, const TableWords* b) {
        return a->GetFile() < b->GetFile();
    });
    Json files = Json::object();
    for (const TableWords* table : tables)
    {
        Json& file = files[table->GetFile()];
        file["separator"] = std::string(1, table->GetSeparator());
        for (const TableWords::Typed& column : table->Columns())
        {
            file["columns"].push_back({{"name", column.name},
                                       {"unit", column.unit},
                                       {"type", column.type},
                                       {"meaning", column.meaning}});
        }
    }
    Keys all = AllKeys();
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::make_pair(a.first, a.second->Members().front().name) <
               std::make_pair(b.first, b.second->Members().front().name);
    });
    Json shapes = Json::object();
    Json stats = Json::array();
    for (const auto& [section, shape] : all)
    {
        const char* title = TITLES[static_cast<std::size_t>(section)];
        if (stats.empty() || stats.back()["section"] != title)
        {
            stats.push_back({{"section", title}, {"keys", Json::array()}});
        }
        for (const Json& key : KeysOf(*shape, shapes))
        {
            stats.back()["keys"].push_back(key);
        }
    }
    return Json{{"files", files}, {"stats", stats}, {"shapes", shapes}}.dump(1) + "\n";
}

} // namespace reports

/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/exchanges.h"
#include "scenarios/operator-search/sharding-report.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace sharding
{

namespace
{

// Of the picture, in pixels.
constexpr int kRow = 74;
constexpr int kLeft = 40;
constexpr int kBox = 420;
constexpr int kHigh = 50;
constexpr int kGrid = 40;
constexpr int kAside = 160; ///< to the right of boxes, for edges that skip some; at least
constexpr int kLanes = 8;   ///< of these edges, one after another
constexpr const char* kGrey = "#888";
constexpr const char* kRed = "#c22";

std::string
Escaped(const std::string& text)
{
    std::string escaped;
    for (const char c : text)
    {
        escaped += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    }
    return escaped;
}

std::string
TextAt(int x, int y, const std::string& text, const char* more = "")
{
    return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" " + more + ">" +
           Escaped(text) + "</text>\n";
}

std::string
Arrowhead(const std::string& name, const char* colour)
{
    return "<marker id=\"" + name +
           "\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
           "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" "
           "fill=\"" +
           colour + "\"/></marker>\n";
}

/// "all-gather over 4", forward; where nothing is moved then, backward.
std::string
MovesText(const std::vector<ExchangeOf>& exchanges)
{
    std::string text;
    for (const ExchangeOf& x : exchanges)
    {
        if (std::string(x.when) == exchanges[0].when)
        {
            text += (text.empty() ? std::string(x.when) + ": " : ", ") + OpWord(x.collective.op) +
                    " over " + std::to_string(CountOf(x.collective.digits));
        }
    }
    return text;
}

/// Labels of edges, none over another.
class Labels
{
  public:
    /// Below the wanted place, where that is taken.
    void Add(int x, int y, const std::string& text)
    {
        const int width = WidthOf(text);
        const auto isTaken = [&](const Place& p) {
            return y < p.y + kLine && p.y < y + kLine && x < p.end && p.x < x + width;
        };
        while (std::any_of(m_places.begin(), m_places.end(), isTaken))
        {
            y += kLine;
        }
        m_places.push_back({x, x + width, y});
        m_svg += TextAt(x, y, text, "fill=\"#c22\" font-size=\"11\"");
    }

    /// The right end of all.
    int End() const
    {
        int end = 0;
        for (const Place& place : m_places)
        {
            end = std::max(end, place.end);
        }
        return end;
    }

    const std::string& Svg() const
    {
        return m_svg;
    }

    /// Pixels of a text in 11 px (assumed: no letter is wider on average).
    static int WidthOf(const std::string& text)
    {
        return static_cast<int>(text.size()) * 13 / 2;
    }

  private:
    static constexpr int kLine = 13;

    struct Place
    {
        int x;
        int end;
        int y;
    };

    std::vector<Place> m_places;
    std::string m_svg;
};

/// The output as a square that is cut as its two dimensions of most parts are.
std::string
Grid(int x, int y, const Layout& layout, bool partial)
{
    uint32_t rows = 1;
    uint32_t columns = 1;
    for (std::size_t d = 0; d < layout.size(); ++d)
    {
        (d == 0 ? rows : columns) *= CountOf(layout[d]);
    }
    std::string svg = "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
                      "\" width=\"" + std::to_string(kGrid) + "\" height=\"" +
                      std::to_string(kGrid) + "\" fill=\"" + (partial ? "#f6d8b8" : "#cfe3f7") +
                      "\" stroke=\"#333\"/>\n";
    constexpr uint32_t kMostLines = 16; // more would be one grey square
    for (uint32_t i = 1; i < std::min(rows, kMostLines); ++i)
    {
        const int at = y + static_cast<int>(kGrid * i / std::min(rows, kMostLines));
        svg += "<line x1=\"" + std::to_string(x) + "\" x2=\"" + std::to_string(x + kGrid) +
               "\" y1=\"" + std::to_string(at) + "\" y2=\"" + std::to_string(at) +
               "\" stroke=\"#333\"/>\n";
    }
    for (uint32_t i = 1; i < std::min(columns, kMostLines); ++i)
    {
        const int at = x + static_cast<int>(kGrid * i / std::min(columns, kMostLines));
        svg += "<line y1=\"" + std::to_string(y) + "\" y2=\"" + std::to_string(y + kGrid) +
               "\" x1=\"" + std::to_string(at) + "\" x2=\"" + std::to_string(at) +
               "\" stroke=\"#333\"/>\n";
    }
    return svg;
}

} // namespace

std::string
ShardingSvg(const Sharding& s)
{
    const Graph& graph = s.graph;
    const Scatters scatters(graph, s.strategies);
    const int count = static_cast<int>(graph.operators.size());
    const auto top = [](uint32_t op) { return 76 + static_cast<int>(op) * kRow; };
    std::string svg = TextAt(kLeft,
                             24,
                             graph.name + " on " + topo::Counted(s.settings.devices.count, "GPU") +
                                 ", " + ModeName(s.settings.mode),
                             "font-size=\"15\" font-weight=\"bold\"");
    svg +=
        TextAt(kLeft,
               42,
               "squares: the output's cut, rows by its first dimension; orange: partial sums are "
               "added up; red: redistribution",
               "fill=\"#555\"");
    svg += TextAt(kLeft,
                  56,
                  "arrows: tensors from operator to operator; dashed: to the next of equal blocks",
                  "fill=\"#555\"");
    svg += Arrowhead("grey", kGrey) + Arrowhead("red", kRed);
    Labels labels; // above all edges
    int skipping = 0;
    for (uint32_t e = 0; e < graph.edges.size(); ++e)
    {
        const Edge& edge = graph.edges[e];
        const auto exchanges = ExchangesOfEdge(graph,
                                               edge,
                                               s.strategies,
                                               s.settings.devices.count,
                                               graph.tensors[0].bytes);
        const char* const colour = exchanges.empty() ? kGrey : kRed;
        const bool straight = !edge.next && edge.to == edge.from + 1;
        // Out of a box below its middle, into one above it.
        const int y1 = top(edge.from) + (straight ? kHigh : kHigh * 2 / 3);
        const int y2 = top(edge.to) + (straight ? 0 : kHigh / 3);
        int labelX = kLeft + 72;
        int labelY = (y1 + y2) / 2 + 4;
        char path[200];
        if (straight)
        {
            std::snprintf(path, sizeof path, "M %d %d L %d %d", kLeft + 60, y1, kLeft + 60, y2);
        }
        else
        {
            const int out = kLeft + kBox + 25 + 16 * (skipping++ % kLanes);
            std::snprintf(path,
                          sizeof path,
                          "M %d %d C %d %d %d %d %d %d",
                          kLeft + kBox,
                          y1,
                          out,
                          y1,
                          out,
                          y2,
                          kLeft + kBox,
                          y2);
            labelX = kLeft + kBox + (out - kLeft - kBox) * 3 / 4 + 4; // where the curve is in half
        }
        svg += "<path d=\"" + std::string(path) + "\" fill=\"none\" stroke=\"" + colour +
               "\" stroke-width=\"" + (exchanges.empty() ? "1.5" : "2.5") + "\"" +
               (edge.next ? " stroke-dasharray=\"5 3\"" : "") + " marker-end=\"url(#" +
               (exchanges.empty() ? "grey" : "red") + ")\"/>\n";
        if (!exchanges.empty())
        {
            labels.Add(labelX, labelY, MovesText(exchanges));
        }
    }
    const int right = std::max(kLeft + kBox + kAside, labels.End() + 16);
    int end = right;
    for (uint32_t i = 0; i < graph.operators.size(); ++i)
    {
        const Operator& op = graph.operators[i];
        const int y = top(i);
        const bool partial = !SummedDigits(op, s.strategies[i]).empty();
        svg += "<rect x=\"" + std::to_string(kLeft) + "\" y=\"" + std::to_string(y) +
               "\" width=\"" + std::to_string(kBox) + "\" height=\"" + std::to_string(kHigh) +
               "\" rx=\"6\" fill=\"#f7f7f7\" stroke=\"#555\"/>\n";
        char times[24] = "";
        if (graph.Times(i) > 1)
        {
            std::snprintf(times, sizeof times, " x %.0f", graph.Times(i));
        }
        svg += TextAt(kLeft + 56,
                      y + 20,
                      op.name + times + " (" + op.word + ")",
                      "font-weight=\"bold\"");
        svg += TextAt(kLeft + 56, y + 38, StrategyText(op, s.strategies[i]));
        svg += Grid(kLeft + 6, y + 5, LayoutOf(op.output, s.strategies[i]), partial);
        int line = 0;
        for (const ExchangeOf& x : ExchangesOfOperator(graph,
                                                       i,
                                                       s.strategies,
                                                       scatters,
                                                       s.settings.devices.count,
                                                       graph.tensors[op.output.tensor].bytes))
        {
            if (line < 3)
            {
                const std::string text = std::string(x.when) + ": " + OpWord(x.collective.op) +
                                         " over " + std::to_string(CountOf(x.collective.digits));
                svg += TextAt(right, y + 16 + 16 * line++, text);
                end = std::max(end, right + Labels::WidthOf(text) * 12 / 11);
            }
        }
    }
    const std::string head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                             std::to_string(std::max(end, kLeft + 640) + 20) + "\" height=\"" +
                             std::to_string(96 + count * kRow) +
                             "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    return head + svg + labels.Svg() + "</svg>\n";
}

} // namespace sharding

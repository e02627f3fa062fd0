/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Files of requests, of others and our own.
 */
#include "scenarios/formats/date-time.h"
#include "scenarios/formats/requests/request-trace.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace formats;

namespace
{

std::string
ErrorsOf(const std::vector<topo::Error>& errors)
{
    std::string text;
    for (const auto& error : errors)
    {
        text += (text.empty() ? "" : "\n") + error.Sentence();
    }
    return text;
}

RequestTrace
TraceOf(const std::string& text, const RequestFilter& filter = {})
{
    std::vector<topo::Error> errors;
    auto trace = ParseRequestTrace(text, "t", filter, errors);
    EXPECT_TRUE(trace) << ErrorsOf(errors);
    return trace.value_or(RequestTrace());
}

std::string
ErrorOf(const std::string& text, const RequestFilter& filter = {})
{
    std::vector<topo::Error> errors;
    EXPECT_FALSE(ParseRequestTrace(text, "t", filter, errors));
    return ErrorsOf(errors);
}

/// "0 5 6; 1000 7 8": arrivals in ms, prompts, outputs.
std::string
Shown(const RequestTrace& trace)
{
    std::string text;
    for (const serving::Request& request : trace.requests)
    {
        text += (text.empty() ? "" : "; ") +
                (request.arrival < 0 ? "-" : std::to_string(request.arrival / 1'000'000'000)) +
                " " + std::to_string(request.prompt) + " " + std::to_string(request.output);
    }
    return text;
}

TEST(DateTime, NumbersAreExact)
{
    const auto ps = [](const char* text, int digits = 12) {
        const auto value = ParseDecimalTime(text, digits);
        return value ? static_cast<int64_t>(*value) : -1;
    };
    EXPECT_EQ(ps("0"), 0);
    EXPECT_EQ(ps("0.000"), 0);
    EXPECT_EQ(ps("1"), 1'000'000'000'000);
    EXPECT_EQ(ps("0.265091"), 265'091'000'000);
    EXPECT_EQ(ps("2.1e-05"), 21'000'000);
    EXPECT_EQ(ps("1.5E+3"), 1'500'000'000'000'000);
    EXPECT_EQ(ps("3052", 9), 3'052'000'000'000);
    EXPECT_EQ(ps("7", 0), 7);
    EXPECT_EQ(ps("0.0000000000019"), 1); // less than a ps is cut
    EXPECT_EQ(ps("00000000000000000000000000001"), 1'000'000'000'000);
    for (const char* wrong :
         {"", ".", "-1", "+1", "1s", "1e", "1e9999", "1.2.3", "nan", "0x10", "1e30"})
    {
        EXPECT_EQ(ps(wrong), -1) << wrong;
    }
}

TEST(DateTime, DatesAreThoseOfTheCalendar)
{
    const auto seconds = [](const char* text) {
        const auto value = ParseDateTime(text);
        return value ? static_cast<int64_t>(*value / 1'000'000'000'000) : -1;
    };
    EXPECT_EQ(seconds("1970-01-01 00:00:00"), 0);
    // date -u -d '...' +%s
    EXPECT_EQ(seconds("2023-11-16 18:17:03.9799600"), 1700158623);
    EXPECT_EQ(seconds("2024-02-29T23:59:59Z"), 1709251199);
    EXPECT_EQ(seconds("2024-05-10 00:00:00.009930+00:00"), 1715299200);
    EXPECT_EQ(seconds("2024-05-10 02:00:00+02:00"), 1715299200);
    EXPECT_EQ(seconds("2000-03-01 00:00:00"), 951868800);
    EXPECT_EQ(static_cast<int64_t>(*ParseDateTime("1970-01-01 00:00:00.9799600")), 979'960'000'000);
    for (const char* wrong : {"2023-13-16 18:17:03",
                              "2024-02-30 00:00:00", // a leap year has 29
                              "2023-02-29 00:00:00",
                              "1900-02-29 00:00:00", // a century is none
                              "2023-04-31 00:00:00",
                              "2023-11-16",
                              "2023-11-16 18:17",
                              "16.11.2023",
                              "2023-11-16 18:17:03.",
                              "2023-11-16 18:17:03 x",
                              "23-11-16 18:17:03"})
    {
        EXPECT_FALSE(ParseDateTime(wrong)) << wrong;
    }
}

TEST(RequestTrace, ReadsTheColumnsOfMany)
{
    const struct
    {
        const char* what;
        const char* text;
    } files[] = {
        {"own", "arrival_s,input_tokens,output_tokens\n0.5,5,6\n1.5,7,8\n"},
        {"other order, more columns",
         "id,output_tokens,arrival_s,x,input_tokens\n"
         "a,6,0.5,,5\nb,8,1.5,,7\n"},
        {"not sorted", "arrival_ms,prompt_tokens,output_tokens\n1500,7,8\n500,5,6\n"},
        {"Azure",
         "TIMESTAMP,ContextTokens,GeneratedTokens\n"
         "2023-11-16 18:17:03.5000000,5,6\n2023-11-16 18:17:04.5000000,7,8\n"},
        {"BurstGPT",
         "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
         "5,GPT-4,5,6,11,API log\n6,GPT-4,7,8,15,API log\n"},
        {"Splitwise",
         "request_id,request_type,application_id,arrival_timestamp,batch_size,"
         "prompt_size,token_size\n0,2,0,0.25,1,5,6\n1,2,0,1.25,1,7,8\n"},
        {"Vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,5,6\n1.0,7.0,8\n"},
        {"Windows' ends of lines, a BOM",
         "\xEF\xBB\xBF"
         "arrival_s,input_tokens,output_tokens\r\n"
         "0,5,6\r\n1,7,8\r\n\r\n"},
        {"Mooncake",
         "{\"timestamp\": 27482, \"input_length\": 5, \"output_length\": 6, "
         "\"hash_ids\": [46, 47]}\n"
         "{\"timestamp\": 28482, \"input_length\": 7, \"output_length\": 8, "
         "\"hash_ids\": [46, 48]}\n"},
        {"a list",
         "[{\"arrival_s\": 1, \"input_tokens\": 5, \"output_tokens\": 6},\n"
         " {\"arrival_s\": 2.0, \"input_tokens\": 7, \"output_tokens\": 8}]"},
    };

    for (const auto& file : files)
    {
        EXPECT_EQ(Shown(TraceOf(file.text)), "0 5 6; 1000 7 8") << file.what;
    }
}

TEST(RequestTrace, WithoutArrivals)
{
    const RequestTrace trace = TraceOf("input_tokens,output_tokens\n5,6\n7,8\n");
    EXPECT_FALSE(trace.hasArrivals);
    EXPECT_EQ(Shown(trace), "- 5 6; - 7 8");
}

TEST(RequestTrace, ConversationsAreEstimated)
{
    // 8 and 9 characters: 2 and 3 tokens of 4; an umlaut is one. Later turns and lonely ones do not
    // count.
    const RequestTrace trace = TraceOf(
        "[{\"id\": \"a\", \"conversations\": [{\"from\": \"human\", \"value\": \"12345678\"},"
        " {\"from\": \"gpt\", \"value\": \"12345678\xC3\xA4\"}, {\"from\": \"human\", "
        "\"value\": \"more\"}]},"
        " {\"id\": \"b\", \"conversations\": [{\"from\": \"human\", \"value\": \"1\"}]},"
        " {\"id\": \"c\", \"messages\": [{\"role\": \"user\", \"content\": \"1\"},"
        " {\"role\": \"assistant\", \"content\": \"12345\"}]}]");
    EXPECT_TRUE(trace.estimated);
    EXPECT_FALSE(trace.hasArrivals);
    EXPECT_EQ(trace.left, 1u);
    EXPECT_EQ(Shown(trace), "- 2 3; - 1 2");
}

TEST(RequestTrace, SharedPrefixesAreCounted)
{
    // Blocks of 512 tokens: of the second prompt's 1,000 the first block is known, of the third's
    // 700 both, but it has no more than 700; of 2,724 tokens 1,212.
    const RequestTrace trace =
        TraceOf("{\"timestamp\":0,\"input_length\":1024,\"output_length\":1,\"hash_ids\":[1,2]}\n"
                "{\"timestamp\":0,\"input_length\":1000,\"output_length\":1,\"hash_ids\":[1,3]}\n"
                "{\"timestamp\":0,\"input_length\":700,\"output_length\":1,\"hash_ids\":[1,3]}\n");
    EXPECT_DOUBLE_EQ(trace.prefixShare, 1212.0 / 2724);
}

TEST(RequestTrace, FailedRequestsAreLeftOut)
{
    const RequestTrace trace =
        TraceOf("Timestamp,Request tokens,Response tokens\n1,5,0\n2,5,6\n3,7,8\n");
    EXPECT_EQ(trace.left, 1u);
    EXPECT_EQ(Shown(trace), "0 5 6; 1000 7 8");
}

constexpr const char* kRuns = "gpu,model,arrival_s,input_tokens,output_tokens\n"
                              "RTX4090,A,0,1,1\nRTX4090,B,1,2,2\nH100,A,5,5,6\nH100,A,6,7,8\n";

TEST(RequestTrace, SeveralRunsNeedAChoice)
{
    EXPECT_EQ(ErrorOf(kRuns),
              "t: has requests of several values of gpu: H100, RTX4090; --requests-where=gpu=H100 "
              "takes those of one, gpu=* all");
    EXPECT_EQ(ErrorOf(kRuns, {{"gpu", "RTX4090"}}),
              "t: has requests of several values of model: A, B; --requests-where=model=A takes "
              "those of one, model=* all");
    EXPECT_EQ(Shown(TraceOf(kRuns, {{"gpu", "H100"}})), "0 5 6; 1000 7 8");
    EXPECT_EQ(Shown(TraceOf(kRuns, {{"GPU", "h100"}})), "0 5 6; 1000 7 8");
    EXPECT_EQ(Shown(TraceOf(kRuns, {{"gpu", "RTX4090"}, {"model", "*"}})), "0 1 1; 1000 2 2");
    EXPECT_EQ(ErrorOf(kRuns, {{"gpu", "T4"}}),
              "t: has no requests that --requests-where chooses; gpu: H100, RTX4090");
    EXPECT_EQ(ErrorOf(kRuns, {{"gpus", "T4"}}),
              "t:1: no column 'gpus', which --requests-where names (did you mean gpu?)");
}

TEST(RequestTrace, MistakesNameTheirPlace)
{
    const struct
    {
        const char* text;
        const char* error;
    } wrong[] = {
        {"", "t: is empty"},
        {" \n", "t: is empty"},
        {"arrival_s,input_tokens\n0,1\n",
         "t:1: no column has the answer's tokens; allowed: output_tokens, completion_tokens, "
         "GeneratedTokens, Response tokens, output_length, num_decode_tokens, token_size, "
         "output_len or output; there are: arrival_s, input_tokens"},
        {"arrival_s,output_tokens\n0,1\n",
         "t:1: no column has the prompt's tokens; allowed: input_tokens, prompt_tokens, "
         "ContextTokens, Request tokens, input_length, num_prefill_tokens, prompt_size, prompt_len "
         "or prompt; there are: arrival_s, output_tokens"},
        {"arrival_s,input_tokens,output_tokens\n0,1,1\n1,2\n",
         "t:3: 2 fields, the first line names 3"},
        {"arrival_s,input_tokens,output_tokens\n0,-3,1\n",
         "t:2: input_tokens '-3' is no number of tokens; allowed: 0 to 10000000"},
        {"arrival_s,input_tokens,output_tokens\n0,3,1.5\n",
         "t:2: output_tokens '1.5' is no number of tokens; allowed: 0 to 10000000"},
        {"arrival_s,input_tokens,output_tokens\nsoon,3,1\n",
         "t:2: arrival_s 'soon' is no time; allowed: a number, 0 or more, or a date such as "
         "2023-11-16 18:17:03.98"},
        {"arrival_s,input_tokens,output_tokens\n0,\"3,1\n", "t:2: a quote is not closed"},
        {"arrival_s,input_tokens,output_tokens,arrival_s\n0,3,1,0\n",
         "t:1: column 'arrival_s' stands there twice"},
        {"arrival_s,input_tokens,output_tokens\n", "t: has no requests"},
        {"arrival_s,input_tokens,output_tokens\n0,1,0\n", "t: all requests have 0 tokens"},
        {"arrival_s,input_tokens,output_tokens\n0,1,1\n1000001,1,1\n",
         "t: lasts longer than 1000000 s; allowed: a part of it, as a file of its own"},
        {"[1]", "t: /0: is no JSON object with a request"},
        {"{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 6}\n{\"timestamp\": 1}\n",
         "t:2: no column has the prompt's tokens; allowed: input_tokens, prompt_tokens, "
         "ContextTokens, Request tokens, input_length, num_prefill_tokens, prompt_size, prompt_len "
         "or prompt; there are: timestamp"},
        {"{\"input_length\": 5, \"output_length\": 6}\n"
         "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 6}\n",
         "t:2: has an arrival, and those before it have none"},
        {"[{\"conversations\": 5}]", "t: /0: has conversations that are no list of turns"},
        {"[{\"conversations\": [{}, {}]}]",
         "t: /0: has a turn without a text, 'value' or 'content'"},
    };

    for (const auto& one : wrong)
    {
        EXPECT_EQ(ErrorOf(one.text), one.error);
    }
    EXPECT_EQ(ErrorOf("{\"input_length\": 5, \"output_length\": 6}\n{\"input_length\": ,}\n")
                  .substr(0, 27),
              "t:2:18: malformed JSON: syn");
    // Deep ones are no crash: 101 lists within each other are one too many.
    const std::string deep = std::string(100000, '[') + std::string(100000, ']');
    EXPECT_EQ(ErrorOf(deep), "t:1:102: more than 100 objects and lists within each other");
    EXPECT_EQ(ErrorOf("{\"input_length\": 5, \"output_length\": 6}\n{\"a\": " + deep + "}\n"),
              "t:2:107: more than 100 objects and lists within each other");
    // Many mistakes are a few errors.
    std::string many = "arrival_s,input_tokens,output_tokens\n";
    for (int i = 0; i < 1000; ++i)
    {
        many += "x,1,1\n";
    }
    std::vector<topo::Error> errors;
    EXPECT_FALSE(ParseRequestTrace(many, "t", {}, errors));
    EXPECT_EQ(errors.size(), 20u);
}

} // namespace

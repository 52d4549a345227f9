// A small processor with a multiplier, as input for synthesis.
module alu(input [3:0] op, input [31:0] a, input [31:0] b, output reg [31:0] y, output zero);
  wire signed [31:0] sa = a, sb = b;
  always @* case (op)
    4'd0: y = a + b;
    4'd1: y = a - b;
    4'd2: y = a & b;
    4'd3: y = a | b;
    4'd4: y = a ^ b;
    4'd5: y = a << b[4:0];
    4'd6: y = a >> b[4:0];
    4'd7: y = sa >>> b[4:0];
    4'd8: y = {31'd0, sa < sb};
    4'd9: y = {31'd0, a < b};
    4'd10: y = a * b;
    default: y = 32'd0;
  endcase
  assign zero = y == 32'd0;
endmodule

module registers(input clk, input we, input [4:0] rd, input [4:0] rs, input [4:0] rt,
                 input [31:0] d, output [31:0] a, output [31:0] b);
  reg [31:0] file [0:31];
  always @(posedge clk) if (we && rd != 0) file[rd] <= d;
  assign a = rs == 0 ? 32'd0 : file[rs];
  assign b = rt == 0 ? 32'd0 : file[rt];
endmodule

module processor(input clk, input reset, input [31:0] instruction, output reg [31:0] pc,
                 output [31:0] address, output [31:0] written, output write);
  wire [5:0] opcode = instruction[31:26];
  wire [4:0] rd = instruction[25:21], rs = instruction[20:16], rt = instruction[15:11];
  wire [31:0] immediate = {{16{instruction[15]}}, instruction[15:0]};
  wire [31:0] a, b, y;
  wire zero;
  wire use_immediate = opcode[5];
  wire branch = opcode[4];
  assign write = opcode == 6'b001111;
  registers file(clk, !branch && !write, rd, rs, rt, y, a, b);
  alu alu(opcode[3:0], a, use_immediate ? immediate : b, y, zero);
  assign address = y;
  assign written = b;
  always @(posedge clk)
    if (reset) pc <= 0;
    else if (branch && zero) pc <= pc + {immediate[29:0], 2'b00};
    else pc <= pc + 4;
endmodule

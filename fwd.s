	.text
	.file	"weft"
	.section	.rodata.cst32,"aM",@progbits,32
	.p2align	5, 0x0
.LCPI0_0:
	.long	1
	.long	3
	.long	5
	.long	7
	.long	9
	.long	11
	.long	13
	.long	15
.LCPI0_2:
	.long	0
	.long	2
	.long	4
	.long	6
	.long	8
	.long	10
	.long	12
	.long	14
	.section	.rodata.cst8,"aM",@progbits,8
	.p2align	3, 0x0
.LCPI0_1:
	.quad	12
.LCPI0_6:
	.byte	1
	.byte	3
	.byte	5
	.byte	7
	.byte	9
	.byte	11
	.byte	13
	.byte	15
	.section	.rodata.cst4,"aM",@progbits,4
	.p2align	2, 0x0
.LCPI0_3:
	.long	0x3f800000
.LCPI0_5:
	.long	0x80000000
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
.LCPI0_4:
	.long	0
	.long	16
	.long	1
	.long	17
	.long	2
	.long	18
	.long	3
	.long	19
	.long	12
	.long	28
	.long	13
	.long	29
	.long	14
	.long	30
	.long	15
	.long	31
	.text
	.globl	weft_k_spring_forces
	.p2align	4, 0x90
	.type	weft_k_spring_forces,@function
weft_k_spring_forces:
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	andq	$-64, %rsp
	subq	$2688, %rsp
	movq	%rdx, %rcx
	movq	%rdi, %rbx
	movq	(%rdx), %rdx
	movq	16(%rcx), %rax
	movq	88(%rcx), %r8
	movq	176(%rcx), %r9
	vmovss	264(%rcx), %xmm0
	movq	272(%rcx), %r10
	movq	288(%rcx), %rcx
	movq	%rsi, %rdi
	subq	%rbx, %rdi
	leaq	7(%rdi), %r11
	testq	%rdi, %rdi
	cmovnsq	%rdi, %r11
	andq	$-8, %r11
	subq	%r11, %rdi
	movq	%rsi, %r11
	movq	%rdi, 48(%rsp)
	subq	%rdi, %r11
	cmpq	%rbx, %r11
	jle	.LBB0_9
	leaq	(,%rax,4), %r14
	leaq	(%r14,%r14,2), %r14
	vpbroadcastq	%r14, %zmm1
	leaq	8(%rdx), %r14
	vbroadcastss	%xmm0, %ymm2
	leaq	(,%rcx,4), %r15
	leaq	(%r15,%r15,2), %r15
	vpbroadcastq	%r15, %zmm3
	xorl	%r15d, %r15d
	vpmovsxbd	.LCPI0_6(%rip), %ymm4
	vpbroadcastq	.LCPI0_1(%rip), %zmm5
	vxorps	%xmm6, %xmm6, %xmm6
	vmovaps	.LCPI0_2(%rip), %ymm7
	vpbroadcastq	%r10, %zmm8
	vmovaps	.LCPI0_4(%rip), %zmm9
	vbroadcastss	.LCPI0_5(%rip), %zmm10
	xorl	%r12d, %r12d
	jmp	.LBB0_2
	.p2align	4, 0x90
.LBB0_7:
	xorl	%r15d, %r15d
.LBB0_8:
	cmpq	%r11, %rbx
	jge	.LBB0_9
.LBB0_2:
	movq	%rbx, %rdi
	shlq	$32, %rdi
	movq	%rdi, %r13
	sarq	$29, %r13
	vmovdqu	(%r8,%r13), %ymm11
	vpermt2d	32(%r8,%r13), %ymm4, %ymm11
	vpmovzxdq	%ymm11, %zmm12
	vpmovd2m	%ymm11, %k1
	vpmuldq	%zmm5, %zmm12, %zmm11
	vmovdqa64	%zmm11, %zmm12
	vpaddq	%zmm1, %zmm11, %zmm12 {%k1}
	kxnorw	%k0, %k0, %k2
	vxorpd	%xmm13, %xmm13, %xmm13
	vgatherqpd	(%rdx,%zmm12), %zmm13 {%k2}
	vxorps	%xmm14, %xmm14, %xmm14
	kxnorw	%k0, %k0, %k2
	vgatherqps	(%r14,%zmm12), %ymm14 {%k2}
	vmovdqu64	(%r8,%r13), %zmm12
	vpmovqd	%zmm12, %ymm15
	vpmovd2m	%ymm15, %k2
	vpmuldq	%zmm5, %zmm12, %zmm12
	vmovdqa64	%zmm12, %zmm15
	vpaddq	%zmm1, %zmm12, %zmm15 {%k2}
	kxnorw	%k0, %k0, %k3
	vxorpd	%xmm16, %xmm16, %xmm16
	vgatherqpd	(%rdx,%zmm15), %zmm16 {%k3}
	vxorps	%xmm17, %xmm17, %xmm17
	kxnorw	%k0, %k0, %k3
	vgatherqps	(%r14,%zmm15), %ymm17 {%k3}
	vsubps	%zmm16, %zmm13, %zmm13
	vsubps	%ymm17, %ymm14, %ymm14
	vpxor	%xmm15, %xmm15, %xmm15
	vpermd	%zmm13, %zmm4, %zmm15
	vpxord	%xmm16, %xmm16, %xmm16
	vpermps	%zmm13, %zmm7, %zmm16
	vmulps	%zmm13, %zmm13, %zmm13
	vpermps	%zmm13, %zmm7, %zmm13
	vfmadd231ps	%ymm15, %ymm15, %ymm13
	vfmadd231ps	%ymm14, %ymm14, %ymm13
	vcmpeqps	%ymm6, %ymm13, %k3
	vblendmps	.LCPI0_3(%rip){1to8}, %ymm13, %ymm17 {%k3}
	vsqrtps	%ymm17, %ymm17
	vmovaps	%ymm13, %ymm17 {%k3}
	vdivps	%ymm17, %ymm16, %ymm13
	vdivps	%ymm17, %ymm15, %ymm15
	vdivps	%ymm17, %ymm14, %ymm14
	sarq	$30, %rdi
	vsubps	(%r9,%rdi), %ymm17, %ymm16
	vmulps	%ymm16, %ymm2, %ymm16
	vmulps	%ymm16, %ymm13, %ymm13
	vmulps	%ymm16, %ymm15, %ymm15
	vmulps	%ymm16, %ymm14, %ymm14
	vpaddq	%zmm3, %zmm12, %zmm12 {%k2}
	vpaddq	%zmm12, %zmm8, %zmm12
	vinsertf64x4	$1, %ymm15, %zmm15, %zmm15
	vinsertf64x4	$1, %ymm13, %zmm13, %zmm13
	vpermt2ps	%zmm15, %zmm9, %zmm13
	movq	%r12, %rdi
	shlq	$6, %rdi
	vmovups	%zmm13, 1088(%rsp,%rdi)
	movq	%r12, %r13
	shlq	$5, %r13
	vmovups	%ymm14, 64(%rsp,%r13)
	vmovdqu64	%zmm12, 576(%rsp,%rdi)
	incq	%r12
	vxorps	%ymm10, %ymm14, %ymm12
	vpaddq	%zmm3, %zmm11, %zmm11 {%k1}
	vpaddq	%zmm11, %zmm8, %zmm11
	vxorps	%zmm10, %zmm13, %zmm13
	movq	%r15, %rdi
	shlq	$6, %rdi
	vmovups	%zmm13, 2112(%rsp,%rdi)
	movq	%r15, %r13
	shlq	$5, %r13
	vmovups	%ymm12, 320(%rsp,%r13)
	vmovdqu64	%zmm11, 1600(%rsp,%rdi)
	addq	$8, %rbx
	cmpq	%r11, %rbx
	setge	%dil
	cmpq	$8, %r12
	sete	%r13b
	orb	%dil, %r13b
	je	.LBB0_5
	addq	%r12, %r12
	je	.LBB0_4
	movl	$12, %r13d
	.p2align	4, 0x90
.LBB0_14:
	movq	552(%rsp,%r13,2), %rdi
	vmovsd	1064(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	52(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	movq	560(%rsp,%r13,2), %rdi
	vmovsd	1072(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	56(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	movq	568(%rsp,%r13,2), %rdi
	vmovsd	1080(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	60(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	movq	576(%rsp,%r13,2), %rdi
	vmovsd	1088(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	64(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	addq	$16, %r13
	decq	%r12
	jne	.LBB0_14
.LBB0_4:
	xorl	%r12d, %r12d
.LBB0_5:
	incq	%r15
	cmpq	%r11, %rbx
	setge	%dil
	cmpq	$8, %r15
	sete	%r13b
	orb	%dil, %r13b
	je	.LBB0_8
	addq	%r15, %r15
	je	.LBB0_7
	movl	$12, %r13d
	.p2align	4, 0x90
.LBB0_16:
	movq	1576(%rsp,%r13,2), %rdi
	vmovsd	2088(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	308(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	movq	1584(%rsp,%r13,2), %rdi
	vmovsd	2096(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	312(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	movq	1592(%rsp,%r13,2), %rdi
	vmovsd	2104(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	316(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	movq	1600(%rsp,%r13,2), %rdi
	vmovsd	2112(%rsp,%r13,2), %xmm11
	vmovsd	(%rdi), %xmm12
	vaddps	%xmm11, %xmm12, %xmm11
	vmovlps	%xmm11, (%rdi)
	vmovss	8(%rdi), %xmm11
	vaddss	320(%rsp,%r13), %xmm11, %xmm11
	vmovss	%xmm11, 8(%rdi)
	addq	$16, %r13
	decq	%r15
	jne	.LBB0_16
	jmp	.LBB0_7
.LBB0_9:
	cmpq	%rsi, %r11
	jge	.LBB0_12
	movq	%rax, %r12
	movq	%rcx, %rax
	movq	%r9, %r13
	movq	%rsi, %rdi
	shlq	$32, %rdi
	movq	48(%rsp), %r9
	shlq	$32, %r9
	subq	%r9, %rdi
	vpxor	%xmm1, %xmm1, %xmm1
	movq	%rsi, 56(%rsp)
	.p2align	4, 0x90
.LBB0_11:
	movq	%rdi, %r14
	sarq	$29, %r14
	movslq	(%r8,%r14), %rbx
	movslq	4(%r8,%r14), %r14
	movq	%r14, %r15
	sarq	$63, %r15
	movq	%r11, %r9
	movq	%rax, %r11
	movq	%r8, %rax
	movq	%r13, %r8
	movq	%r15, %r13
	andq	%r12, %r13
	addq	%r14, %r13
	leaq	(%r13,%r13,2), %r13
	vmovss	(%rdx,%r13,4), %xmm2
	vmovss	4(%rdx,%r13,4), %xmm3
	vmovss	8(%rdx,%r13,4), %xmm4
	movq	%r12, %rcx
	movq	%rbx, %r12
	sarq	$63, %r12
	movq	%r12, %r13
	andq	%rcx, %r13
	addq	%rbx, %r13
	leaq	(%r13,%r13,2), %r13
	vsubss	(%rdx,%r13,4), %xmm2, %xmm2
	vsubss	4(%rdx,%r13,4), %xmm3, %xmm3
	vsubss	8(%rdx,%r13,4), %xmm4, %xmm4
	vmulss	%xmm2, %xmm2, %xmm5
	vfmadd231ss	%xmm3, %xmm3, %xmm5
	vfmadd231ss	%xmm4, %xmm4, %xmm5
	vucomiss	%xmm1, %xmm5
	setnp	%r13b
	sete	%sil
	andb	%r13b, %sil
	movq	%r8, %r13
	movq	%rax, %r8
	movq	%r11, %rax
	movq	%r9, %r11
	kmovd	%esi, %k1
	vmovaps	%xmm5, %xmm6
	vmovss	.LCPI0_3(%rip), %xmm6 {%k1}
	vsqrtss	%xmm6, %xmm6, %xmm6
	vmovss	%xmm5, %xmm6, %xmm6 {%k1}
	movq	%rdi, %rsi
	sarq	$30, %rsi
	vsubss	(%r13,%rsi), %xmm6, %xmm5
	andq	%rax, %r12
	addq	%rbx, %r12
	vdivss	%xmm6, %xmm2, %xmm2
	vdivss	%xmm6, %xmm3, %xmm3
	vdivss	%xmm6, %xmm4, %xmm4
	vmulss	%xmm5, %xmm0, %xmm5
	vmulss	%xmm5, %xmm2, %xmm2
	vmulss	%xmm5, %xmm3, %xmm3
	vmulss	%xmm5, %xmm4, %xmm4
	leaq	(%r12,%r12,2), %rsi
	movq	%rcx, %r12
	vaddss	(%r10,%rsi,4), %xmm2, %xmm5
	vmovss	%xmm5, (%r10,%rsi,4)
	vaddss	4(%r10,%rsi,4), %xmm3, %xmm5
	vmovss	%xmm5, 4(%r10,%rsi,4)
	vaddss	8(%r10,%rsi,4), %xmm4, %xmm5
	vmovss	%xmm5, 8(%r10,%rsi,4)
	andq	%rax, %r15
	addq	%r14, %r15
	leaq	(%r15,%r15,2), %rsi
	vmovss	(%r10,%rsi,4), %xmm5
	vmovss	4(%r10,%rsi,4), %xmm6
	vsubss	%xmm2, %xmm5, %xmm2
	vmovss	%xmm2, (%r10,%rsi,4)
	vsubss	%xmm3, %xmm6, %xmm2
	vmovss	%xmm2, 4(%r10,%rsi,4)
	vmovss	8(%r10,%rsi,4), %xmm2
	vsubss	%xmm4, %xmm2, %xmm2
	vmovss	%xmm2, 8(%r10,%rsi,4)
	movq	56(%rsp), %rsi
	incq	%r11
	movabsq	$4294967296, %rcx
	addq	%rcx, %rdi
	cmpq	%rsi, %r11
	jl	.LBB0_11
.LBB0_12:
	leaq	-40(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	weft_k_spring_forces, .Lfunc_end0-weft_k_spring_forces

	.section	".note.GNU-stack","",@progbits
